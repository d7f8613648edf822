"""Typed locations: paths, skopeo's names before them, names of images behind them, and what is on no disk."""

import json
from pathlib import Path

import pytest

from rukpak_py.core.errors import ContentError
from rukpak_py.sources.image.reference import parse_image
from rukpak_py.sources.local import locate, open_tree
from tests.unit.images import Layout, docker_archive, layer

NAME = "org.opencontainers.image.ref.name"
HINT = "For an image of a registry give docker://{}"
MISSING = "there is no such file or directory"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(root: str, files: dict[str, bytes]) -> None:
    for path, content in files.items():
        (Path(root) / path).parent.mkdir(parents=True, exist_ok=True)
        (Path(root) / path).write_bytes(content)


def content(typed: str) -> bytes:
    return open_tree(typed)["manifests/a"]


def refusal(typed: str) -> str:
    with pytest.raises(ContentError) as caught:
        open_tree(typed)
    assert str(caught.value).startswith(f"{typed}: ")
    return str(caught.value).removeprefix(f"{typed}: ")


def two_images() -> tuple[dict[str, bytes], list[str]]:
    layout = Layout()
    images = [
        layout.image([{"manifests/a": name.encode()}], annotations={NAME: name}) for name in ("v1", "q.io/a/b:v2")
    ]
    return layout.index(*images).files, [image["digest"] for image in images]


@pytest.mark.parametrize(("directory", "file"), [("layout", "layout.tar"), ("a:b", "a:b.tar")])
def test_a_name_or_a_digest_says_which_image_of_a_layout_is_meant(directory: str, file: str) -> None:
    files, digests = two_images()
    write(directory, files)
    Path(file).write_bytes(layer(files))
    for path in (f"oci:{directory}", f"oci-archive:{file}"):
        assert content(f"{path}:v1") == content(f"{path}@{digests[0]}") == content(f"{path}:v1@{digests[0]}") == b"v1"
        assert content(f"{path}:q.io/a/b:v2") == content(f"{path}@{digests[1]}") == b"q.io/a/b:v2"
        assert refusal(f"{path}:v3") == "the layout holds no image 'v3', but q.io/a/b:v2, v1"
        assert f"the layout holds no image 'v1@{digests[1]}'" in refusal(f"{path}:v1@{digests[1]}")
        assert "say which one with its name or digest, oci:DIR:NAME or oci:DIR@DIGEST" in refusal(path)


def test_a_digest_may_be_that_of_one_platform() -> None:
    layout = Layout()
    images = [
        layout.image([{"manifests/a": name}], platform={"os": "linux", "architecture": "x"}) for name in (b"1", b"2")
    ]
    index = layout.document({"manifests": images}, mediaType="application/vnd.oci.image.index.v1+json")
    write("layout", layout.index({**index, "annotations": {NAME: "v1"}}).files)
    for before in ("oci:layout", "oci:layout:v1"):
        assert content(f"{before}@{images[1]['digest']}") == b"2"
        assert f"linux/x@{images[1]['digest']}" in refusal(f"{before}@{index['digest']}")
        assert "holds no image" in refusal(f"{before}@sha256:{0:064}")


def test_image_that_docker_saved_is_chosen_by_tag() -> None:
    saved = docker_archive([{"manifests/a": b"1"}])
    manifest = saved["manifest.json"]
    assert isinstance(manifest, bytes)
    tagged = [{**json.loads(manifest)[0], "RepoTags": [tag]} for tag in ("demo:v1", "docker.io/a/demo:v2")]
    Path("saved.tar").write_bytes(layer({**saved, "manifest.json": json.dumps(tagged).encode()}))
    for name in ("demo:v1", "docker.io/library/demo:v1", "a/demo:v2", "docker.io/a/demo:v2"):
        assert content(f"docker-archive:saved.tar:{name}") == b"1"
    assert "say which one with its name, docker-archive:FILE:NAME" in refusal("docker-archive:saved.tar")
    assert "holds 0 images 'demo:v3' (demo:v1, docker.io/a/demo:v2)" in refusal("docker-archive:saved.tar:demo:v3")


def test_skopeos_directories_are_images() -> None:
    layout = Layout()
    digest = layout.image([{"manifests/a": b"1"}])["digest"]
    flat = {path.rpartition("/")[2]: data for path, data in layout.files.items() if path.startswith("blobs/")}
    manifest = flat.pop(digest.removeprefix("sha256:"))
    write("flat", {**flat, "manifest.json": manifest, "version": b"Directory Transport Version: 1.1\n"})
    assert content("dir:flat") == content("flat") == b"1"


def test_a_path_that_is_there_is_taken_as_it_was_typed() -> None:
    write("oci:b", {"manifests/a": b"1"})
    write("b", {"manifests/a": b"2"})
    assert content("oci:b") == b"1"
    assert content("dir:b") == b"2"
    assert "holds no images to choose 'v1' from: give the path alone" in refusal("dir:b:v1")


IMAGES = ("quay.io/org/demo:v1", "quay.io/org/demo", "demo:v1", "foo/bar:v1", f"localhost:5000/demo@sha256:{0:064}")


@pytest.mark.parametrize("image", IMAGES)
def test_text_that_names_a_registry_a_tag_or_a_digest_is_an_image(image: str) -> None:
    assert locate(image) == locate(f"docker://{image}") == locate(f"oci://{image}") == parse_image(image)
    assert refusal(f"https://{image}").startswith("a URL is not read: download what is there")
    assert HINT.format(image) in refusal(f"https://{image}")


def test_text_that_may_be_an_image_or_a_path_gets_a_hint() -> None:
    assert refusal("foo/bar") == f"{MISSING}. {HINT.format('foo/bar')}"
    assert locate("docker://foo/bar") == parse_image("docker.io/foo/bar:latest")


def test_a_path_with_a_dot_is_no_registry() -> None:
    write("my.bundles", {"there": b""})
    assert refusal("my.bundles/missing") == MISSING
    assert refusal("my.files/bundle.tgz") == MISSING


@pytest.mark.parametrize("url", ["https://example.com/A?b=c", "git+ssh://X", "http://`reboot`"])
def test_only_names_of_images_get_into_commands(url: str) -> None:
    assert HINT.format("IMAGE") in refusal(url)


def test_invalid_image_location_is_told() -> None:
    assert "is not a valid image name" in refusal("docker://$(reboot)")


def test_images_elsewhere_are_to_be_saved() -> None:
    command = "`skopeo copy docker-daemon:demo:v1 oci:DIR`"
    assert refusal("docker-daemon:demo:v1") == f"is not on disk: save it with {command} and give DIR"


@pytest.mark.parametrize(
    "path",
    [
        "missing",
        "./missing",
        "/tmp/missing/x",
        "../missing.d/b",
        "there/x",
        "dist/bundle.tar.gz",
        "Foo/bar",
        "oci:",
        "oci:x:v1",
        "dir:missing",
        "a\0b",
        "there/file/x",
    ],
)
def test_a_missing_path_is_just_missing(path: str) -> None:
    write("there", {"file": b""})
    assert refusal(path) == MISSING


def test_a_link_to_nothing_is_told() -> None:
    Path("link").symlink_to("gone")
    assert refusal("link") == "is a link to 'gone', which is not there"

"""Content on this machine: directories, archives, OCI layouts and what docker saves; and what each refusal says."""

import gzip
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import AccessError, ContentError
from rukpak_py.core.limits import Limits, variable_of
from rukpak_py.sources.image.descriptors import Descriptor, Platform
from rukpak_py.sources.image.layout import choose, host_platform
from rukpak_py.sources.local import open_tree
from tests.unit.images import Entry, Layout, docker_archive, layer, symlink

BUNDLE = {"manifests/csv.yaml": b"kind: x\n", "metadata/annotations.yaml": b"a: 1\n"}
HOST = {"os": host_platform().os, "architecture": host_platform().architecture}
OTHER = {"os": "linux", "architecture": "pdp11"}


def written(root: Path, files: Mapping[str, bytes]) -> Path:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def file_of(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def refusal(path: Path, **kwargs: Limits) -> str:
    with pytest.raises(ContentError) as caught:
        open_tree(path, **kwargs)
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value).removeprefix(f"{path}: ")


def test_links_inside_the_directory_become_copies(tmp_path: Path) -> None:
    written(tmp_path, {"data/a": b"1", "manifests/x": b"2"})
    (tmp_path / "manifests" / "file").symlink_to("../data/a")
    (tmp_path / "metadata").symlink_to(tmp_path / "data")
    assert dict(open_tree(tmp_path)) == {"manifests/x": b"2", "manifests/file": b"1", "metadata/a": b"1"}


def test_the_path_itself_may_be_a_link(tmp_path: Path) -> None:
    written(tmp_path / "real", BUNDLE)
    (tmp_path / "link").symlink_to("real")
    assert dict(open_tree(tmp_path / "link")) == BUNDLE


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (Limits(content_files=2), "content_files"),
        (Limits(content_bytes=10), "content_bytes"),
        (Limits(file_bytes=6), "file_bytes"),
        (Limits(path_depth=1), "path_depth"),
    ],
)
def test_limits_hold_for_directories(tmp_path: Path, limits: Limits, name: str) -> None:
    assert variable_of(name) in refusal(written(tmp_path, BUNDLE), limits=limits)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_file_without_read_permission_is_told(tmp_path: Path) -> None:
    written(tmp_path, BUNDLE)
    (tmp_path / "manifests" / "csv.yaml").chmod(0)
    with pytest.raises(AccessError, match=r"manifests/csv.yaml: permission denied"):
        open_tree(tmp_path)


@pytest.mark.parametrize("name", ["bundle.tar", "bundle.tgz", "bundle", "bundle.zip"])
@pytest.mark.parametrize("packed", [False, True])
def test_archives_are_recognised_by_content(tmp_path: Path, name: str, packed: bool) -> None:  # noqa: FBT001 a parameter of the test
    data = layer({"README": b"", **BUNDLE})
    tree = open_tree(file_of(tmp_path / name, gzip.compress(data) if packed else data))
    assert dict(tree) == {"README": b"", **BUNDLE}


def test_an_archive_of_anything_else_is_content_too(tmp_path: Path) -> None:
    assert dict(open_tree(file_of(tmp_path / "a", layer({"chart/Chart.yaml": b"x"})))) == {"chart/Chart.yaml": b"x"}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (bytes(range(256)) * 4, "is neither a tar archive, gzipped or not, nor an image layout"),
        (layer({}), "the archive is empty"),
        (layer(BUNDLE)[:700], "cut off"),
        (layer({"a": Entry(type=tarfile.FIFOTYPE)}), "a device or a FIFO"),
    ],
)
def test_files_that_hold_no_content(tmp_path: Path, data: bytes, problem: str) -> None:
    assert problem in refusal(file_of(tmp_path / "x.tar", data))


def test_an_empty_directory_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path) == "the directory is empty"


def opened(root: Path, layout: Layout) -> Tree:
    """The layout as a directory, as a tar and as a gzipped tar gives the same."""
    tree = open_tree(written(root / "layout", layout.files))
    tar = layer({f"./{path}": data for path, data in sorted(layout.files.items(), reverse=True)})
    assert open_tree(file_of(root / "layout.tar", tar)) == tree
    assert open_tree(file_of(root / "layout.tgz", gzip.compress(tar))) == tree
    return tree


def test_an_image_layout_is_its_image(tmp_path: Path) -> None:
    layout = Layout()
    image = layout.image([{"manifests/csv.yaml": b"old"}, BUNDLE, {"metadata/.wh.annotations.yaml": b""}])
    assert dict(opened(tmp_path, layout.index(image))) == {"manifests/csv.yaml": b"kind: x\n"}


def test_of_a_chart_in_an_image_everything_is_read(tmp_path: Path) -> None:
    chart = {"Chart.yaml": b"name: x", "boards/a.json": b"{}", "templates/a.yaml": b""}
    layout = Layout()
    image = layout.image([{**chart, "etc/passwd": b"no"}])
    assert dict(opened(tmp_path, layout.index(image))) == chart


@pytest.mark.parametrize("root", ["", "web/"])
def test_of_a_chart_in_a_directory_everything_is_read(tmp_path: Path, root: str) -> None:
    chart = {f"{root}Chart.yaml": b"name: x", f"{root}boards/a.json": b"{}", f"{root}.helmignore": b"boards"}
    written(tmp_path, {**chart, ".git/HEAD": b"no"})
    assert dict(open_tree(tmp_path)) == chart


def test_of_several_platforms_the_hosts_is_taken(tmp_path: Path) -> None:
    layout = Layout()
    images = [
        layout.image([{"manifests/a": b"other"}], platform=OTHER),
        layout.image([{"manifests/a": b"host"}], platform=HOST),
        layout.image([{"x": b""}], platform={"os": "unknown", "architecture": "unknown"}),
        layout.image([{"y": b""}], annotations={"vnd.docker.reference.type": "attestation-manifest"}, platform=HOST),
    ]
    index = layout.document({"manifests": images}, mediaType="application/vnd.oci.image.index.v1+json")
    assert dict(opened(tmp_path, layout.index(index))) == {"manifests/a": b"host"}


def descriptor(number: int, **fields: object) -> Descriptor:
    return Descriptor(digest=f"sha256:{number:064}", size=1, **fields)  # type: ignore[arg-type]  # passed through


def test_the_only_image_is_taken_whatever_its_platform() -> None:
    only = descriptor(1, platform=Platform(os="linux", architecture="pdp11"))
    signature = descriptor(2, annotations={"org.opencontainers.image.ref.name": f"sha256-{1:064}.sig"})
    host = Platform(os="linux", architecture="amd64")
    assert choose([only, signature], host) is only
    assert choose([only, only], host) is only  # under two tags


@pytest.mark.parametrize(
    ("descriptors", "problem"),
    [
        ([], "the layout holds no image"),
        (
            [descriptor(1, platform=Platform(os="linux", architecture=name)) for name in ("pdp11",)]
            + [descriptor(2, platform=Platform(os="windows", architecture="amd64"))],
            "holds 2 images, none of them for linux/amd64 (linux/pdp11@sha256:",
        ),
        (
            [descriptor(number, annotations={"org.opencontainers.image.ref.name": f"v{number}"}) for number in (1, 2)],
            "(v1, v2): say which one with its name or digest",
        ),
    ],
)
def test_without_one_answer_the_images_are_listed(descriptors: list[Descriptor], problem: str) -> None:
    with pytest.raises(ContentError) as caught:
        choose(descriptors, Platform(os="linux", architecture="amd64"))
    assert problem in str(caught.value)


def test_archive_that_docker_saved_is_read_as_its_image(tmp_path: Path) -> None:
    saved = docker_archive([BUNDLE, {"manifests/b": b"1"}, {"manifests/b": b"1"}, {".wh.metadata": b""}])
    tree = open_tree(file_of(tmp_path / "saved.tar", layer(saved)))
    assert dict(tree) == {"manifests/csv.yaml": b"kind: x\n", "manifests/b": b"1"}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"manifest.json": b"[]"}, "the archive holds 0 images"),
        ({"manifest.json": b"{"}, "manifest.json cannot be decoded"),
        ({"manifest.json": b'{"manifest_version": 3}'}, "manifest.json cannot be decoded"),
        ({"config.json": b'{"rootfs": {"diff_ids": []}}'}, "has 1 layers, and digests of 0"),
        ({f"{0:064}/layer.tar": layer({"a": b""})}, "is damaged"),
        ({f"{0:064}/layer.tar": symlink("gone")}, "is missing in the archive"),
        ({f"{0:064}/layer.tar": symlink("layer.tar")}, "is missing in the archive"),
    ],
)
def test_damaged_archive_of_docker_is_refused(tmp_path: Path, change: dict[str, bytes | Entry], problem: str) -> None:
    data = layer({**docker_archive([BUNDLE]), **change})
    assert problem in refusal(file_of(tmp_path / "saved.tar", data))


def test_damaged_layout_is_refused(tmp_path: Path) -> None:
    layout = Layout()
    image = layout.image([BUNDLE])
    root = written(tmp_path, layout.index(image).files)
    blob = root / "blobs" / image["digest"].replace(":", "/")
    blob.write_bytes(blob.read_bytes().replace(b"schemaVersion", b"schemaversion"))
    assert "is damaged: its content has the digest" in refusal(root)
    blob.unlink()
    assert "is missing in the image" in refusal(root)
    (root / "index.json").write_bytes(b'{"manifests": 5}')
    assert "index.json cannot be decoded" in refusal(root)
    (root / "index.json").write_bytes(b'{"manifests": [{"digest": "sha256:../../../etc/passwd", "size": 5}]}')
    assert "is not a digest" in refusal(root)
    (root / "index.json").write_bytes(b'{"manifests": []}')
    assert "holds no image" in refusal(root)


def test_blobs_are_not_read_through_links_out_of_the_layout(tmp_path: Path) -> None:
    layout = Layout()
    image = layout.image([BUNDLE])
    root = written(tmp_path / "layout", layout.index(image).files)
    blob = root / "blobs" / image["digest"].replace(":", "/")
    blob.rename(tmp_path / "outside")
    blob.symlink_to(tmp_path / "outside")
    assert "is a link that points out of the image" in refusal(root)
    (tmp_path / "outside").rename(root / "inside")
    blob.unlink()
    blob.symlink_to("../../inside")
    assert dict(open_tree(root)) == BUNDLE


def test_indexes_that_never_end_are_refused(tmp_path: Path) -> None:
    layout = Layout()
    inner = layout.image([BUNDLE])
    for _ in range(5):
        inner = layout.document({"manifests": [inner]}, mediaType="application/vnd.oci.image.index.v1+json")
    assert "never to an image" in refusal(written(tmp_path, layout.index(inner).files))


@pytest.mark.parametrize("name", ["image_manifest_bytes", "image_entries", "image_bytes"])
def test_limits_hold_for_images(tmp_path: Path, name: str) -> None:
    layout = Layout()
    root = written(tmp_path, layout.index(layout.image([BUNDLE, {"x": b"1"}])).files)
    assert variable_of(name) in refusal(root, limits=Limits(**{name: 1}))


def test_the_base_of_an_image_is_no_content(tmp_path: Path) -> None:
    base: dict[str, bytes | Entry] = {
        "etc/passwd": b"x" * 100,
        "dev/null": Entry(type=tarfile.CHRTYPE),
        "bin": symlink("usr/bin"),
    }
    layout = Layout()
    root = written(tmp_path / "layout", layout.index(layout.image([base, BUNDLE])).files)
    assert dict(open_tree(root, limits=Limits(file_bytes=50))) == BUNDLE
    empty = Layout()
    assert refusal(written(tmp_path / "e", empty.index(empty.image([base])).files)).startswith(
        "the image holds no bundle: "
    )

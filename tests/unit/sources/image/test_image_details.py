"""The digest and the labels of the image that content was read from, wherever the image is."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from rukpak_py.sources.image.layout import host_platform
from rukpak_py.sources.local import open_content
from tests.unit.images import Layout, digest_of, docker_archive, layer
from tests.unit.sources.image.image_registry import OCI_INDEX, REPOSITORY, Contents
from tests.unit.web_servers import Server

FILES = {"manifests/a": b"1"}
LABELS = {"b": "2", "a": "1"}
HOST = {"os": host_platform().os, "architecture": host_platform().architecture}


def details(path: str | Path, *, registries: bool = False) -> tuple[str, dict[str, str]]:
    found = open_content(path, registries=registries)
    assert dict(found.tree) == FILES
    assert found.image is not None
    return found.image.digest, dict(found.image.labels())


def written(root: Path, files: Mapping[str, bytes]) -> Path:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def test_layout(tmp_path: Path) -> None:
    layout = Layout()
    image = layout.image([FILES], LABELS)
    files = layout.index(image).files
    assert details(written(tmp_path / "layout", files)) == (image["digest"], LABELS)
    (tmp_path / "layout.tar").write_bytes(layer(files))
    assert details(tmp_path / "layout.tar") == (image["digest"], LABELS)


def test_digest_of_an_image_for_several_platforms_is_that_of_its_index(tmp_path: Path) -> None:
    layout = Layout()
    mine = layout.image([FILES], LABELS, platform=HOST)
    other = layout.image([{"manifests/b": b"2"}], {"a": "other"}, platform={"os": "linux", "architecture": "s390x"})
    index = layout.document({"schemaVersion": 2, "manifests": [other, mine]}, mediaType=OCI_INDEX)
    assert details(written(tmp_path, layout.index(index).files)) == (index["digest"], LABELS)


def test_directory_of_skopeo(tmp_path: Path) -> None:
    layout = Layout()
    image = layout.image([FILES], LABELS)
    blobs = {path.rpartition("/")[2]: data for path, data in layout.files.items() if path.startswith("blobs/")}
    manifest = blobs.pop(image["digest"].partition(":")[2])
    written(tmp_path, {**blobs, "manifest.json": manifest, "version": b"Directory Transport Version: 1.1"})
    assert details(tmp_path) == (digest_of(manifest), LABELS)


def test_archive_of_docker_has_labels_and_no_digest(tmp_path: Path) -> None:
    (tmp_path / "image.tar").write_bytes(layer(docker_archive([FILES], LABELS)))
    assert details(tmp_path / "image.tar") == ("", LABELS)


@pytest.mark.usefixtures("hasty")
def test_registry(server: Server, contents: Contents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # without a login
    image = contents.image(FILES, labels=LABELS, tag="v1")
    name = f"docker://{server.address}/{REPOSITORY}:v1"
    assert details(name, registries=True) == (image["digest"], LABELS)


def test_directory_is_no_image(tmp_path: Path) -> None:
    assert open_content(written(tmp_path, FILES)).image is None

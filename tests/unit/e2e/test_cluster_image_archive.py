"""Images are packed without an engine, and the same files give the same bytes."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

from e2e.cluster.image_archive import Image, ImageConfiguration, names_in, write_image, write_image_of

IMAGE = Image(name="example.test/app:1", files={"/b": b"two", "/a/x": b"one"}, entrypoint=["/b"])


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    reordered = Image(name=IMAGE.name, files=dict(reversed(list(IMAGE.files.items()))), entrypoint=["/b"])
    first, second = write_image(IMAGE, tmp_path / "1"), write_image(reordered, tmp_path / "2")
    assert first.read_bytes() == second.read_bytes()


def test_an_archive_names_its_parts_by_their_digests(tmp_path: Path) -> None:
    with tarfile.open(write_image(IMAGE, tmp_path / "image.tar")) as archive:
        parts = {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]  # files only
    [manifest] = json.loads(parts["manifest.json"])
    configuration, [layer] = parts[manifest["Config"]], manifest["Layers"]
    digest = hashlib.sha256(parts[layer]).hexdigest()
    assert manifest["RepoTags"] == ["example.test/app:1"]
    assert manifest["Config"] == f"{hashlib.sha256(configuration).hexdigest()}.json"
    assert layer == f"{digest}.tar"
    assert json.loads(configuration)["rootfs"]["diff_ids"] == [f"sha256:{digest}"]


def test_files_of_the_image_are_executable_and_run_as_an_ordinary_user(tmp_path: Path) -> None:
    with tarfile.open(write_image(IMAGE, tmp_path / "image.tar")) as archive:
        parts = {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]  # files only
    [manifest] = json.loads(parts["manifest.json"])
    with tarfile.open(fileobj=io.BytesIO(parts[manifest["Layers"][0]])) as layer:
        assert {member.name: member.mode for member in layer} == {"a/x": 0o755, "b": 0o755}
    configuration = json.loads(parts[manifest["Config"]])["config"]
    assert configuration["Entrypoint"] == ["/b"]
    assert configuration["User"] != "0"


def test_a_whole_file_system_becomes_one_layer(tmp_path: Path) -> None:
    layer = tmp_path / "layer.tar"
    with tarfile.open(layer, "w") as packed:
        packed.add(__file__, "etc/file")
    target = tmp_path / "image.tar"
    configuration = ImageConfiguration(entrypoint=["/init"], more={"StopSignal": "SIGRTMIN+3"})
    write_image_of(layer, target, name="example.test/node:1", configuration=configuration)
    assert names_in(target) == ["example.test/node:1"]
    with tarfile.open(target) as archive:
        parts = {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]  # files only
    [manifest] = json.loads(parts["manifest.json"])
    assert parts[manifest["Layers"][0]] == layer.read_bytes()
    described = json.loads(parts[manifest["Config"]])
    assert described["config"]["StopSignal"] == "SIGRTMIN+3"
    assert described["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer.read_bytes()).hexdigest()}"]


def test_an_oci_archive_names_its_images_in_its_index(tmp_path: Path) -> None:
    index = json.dumps(
        {"manifests": [{"annotations": {"io.containerd.image.name": "example.test/app:1"}}, {}]}
    ).encode()
    target = tmp_path / "oci.tar"
    with tarfile.open(target, "w") as archive:
        entry = tarfile.TarInfo("index.json")
        entry.size = len(index)
        archive.addfile(entry, io.BytesIO(index))
    assert names_in(target) == ["example.test/app:1"]

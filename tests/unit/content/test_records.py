"""Records of what was unpacked for whom: what is on disk, what counts as missing, and what is swept."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rukpak_py.api.source import Source
from rukpak_py.api.source_types import ImageSource
from rukpak_py.content.disk import StoreUnavailableError
from rukpak_py.content.records import BundleRecord, ImageRecord, InUse, RecordStore

DIGEST = f"sha256:{1:064}"
REF = f"quay.io/team/demo@sha256:{2:064}"
BUNDLE = BundleRecord(
    uid="11d2a3b0-0f0e-4c55-9be0-4c5b2e4c0001",
    deployment="22d2a3b0-0f0e-4c55-9be0-4c5b2e4c0002",
    spec_digest=f"sha256:{3:064}",
    digest=DIGEST,
    source=Source(type="image", image=ImageSource(ref=REF)),
)
IMAGE = ImageRecord(
    image=REF, provisioner_class="core-rukpak-io-plain", digest=DIGEST, bundles=("b2", "b1", ""), deployments=("d1",)
)
BUNDLE_FILE = "bundle-a5db12d068bd12d5683e2a09433d5179a473d6766622f7aa3725fec5e729548c.json"
IMAGE_FILE = "image-8e2e0cce197273af354b1b4189820941cc0933af835d9f1be643b575e238719c.json"


@pytest.fixture
def store(tmp_path: Path) -> RecordStore:
    return RecordStore(tmp_path)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "records").iterdir())


def in_use(*, bundles: tuple[str, ...] = (), deployments: tuple[str, ...] = (), **more: set[tuple[str, str]]) -> InUse:
    return InUse(bundles=set(bundles), deployments=set(deployments), installed=more.get("installed", set()))


def test_the_format_on_disk(store: RecordStore, tmp_path: Path) -> None:
    """Golden: files of this release are read by later ones."""
    store.keep_bundle(BUNDLE)
    store.keep_image(IMAGE)
    assert files(tmp_path) == [BUNDLE_FILE, IMAGE_FILE]
    assert (tmp_path / "records" / BUNDLE_FILE).read_text() == (
        f'{{"deployment":"22d2a3b0-0f0e-4c55-9be0-4c5b2e4c0002","digest":"{DIGEST}",'
        f'"source":{{"image":{{"ref":"{REF}"}},"type":"image"}},"specDigest":"sha256:{3:064}",'
        '"uid":"11d2a3b0-0f0e-4c55-9be0-4c5b2e4c0001","version":1}'
    )
    assert (tmp_path / "records" / IMAGE_FILE).read_text() == (
        f'{{"bundles":["b1","b2"],"deployments":["d1"],"digest":"{DIGEST}","image":"{REF}",'
        '"provisionerClass":"core-rukpak-io-plain","version":1}'
    )
    assert (tmp_path / "records").stat().st_mode & 0o777 == 0o700


def test_kept_records_survive_a_restart(store: RecordStore, tmp_path: Path) -> None:
    assert store.bundles() == {}
    assert store.image(REF, IMAGE.provisioner_class) is None
    store.keep_bundle(BUNDLE)
    store.keep_image(IMAGE)
    again = RecordStore(tmp_path)
    assert again.bundles() == {BUNDLE.uid: BUNDLE}
    found = again.image(REF, IMAGE.provisioner_class)
    assert found is not None
    assert found.digest == DIGEST
    assert again.image(REF, "core-rukpak-io-registry") is None, "another class keeps other files of an image"
    assert again.image(REF.replace("quay.io", "evil.io"), IMAGE.provisioner_class) is None


def test_proofs_are_added_and_prove_for_no_other_bundle(store: RecordStore) -> None:
    store.keep_image(IMAGE)
    store.keep_image(ImageRecord(image=REF, provisioner_class=IMAGE.provisioner_class, digest=DIGEST, bundles=("b3",)))
    found = store.image(REF, IMAGE.provisioner_class)
    assert found is not None
    assert (found.bundles, found.deployments) == (("b1", "b2", "b3"), ("d1",))
    assert found.is_proven_by(bundle="b3", deployment="")
    assert found.is_proven_by(bundle="new", deployment="d1")
    assert not found.is_proven_by(bundle="new", deployment="")
    assert not found.is_proven_by(bundle="", deployment="")


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda _: b"",
    "shortened": lambda data: data[:-1],
    "of a later version": lambda data: data.replace(b'"version":1', b'"version":2'),
    "without a version": lambda data: data.replace(b'"version":1', b'"x":1'),
    "of another type": lambda _: b'{"version":1}',
    "too deep": lambda _: b"[" * 100_000,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_record_that_cannot_be_read_counts_as_missing(
    store: RecordStore, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    store.keep_bundle(BUNDLE)
    store.keep_image(IMAGE)
    for path in (tmp_path / "records").iterdir():
        path.write_bytes(damage(path.read_bytes()))
    assert store.bundles() == {}
    assert store.image(REF, IMAGE.provisioner_class) is None
    store.keep_bundle(BUNDLE)
    assert store.bundles() == {BUNDLE.uid: BUNDLE}


def test_an_image_record_under_the_name_of_another_one_does_not_count(store: RecordStore, tmp_path: Path) -> None:
    store.keep_image(IMAGE)
    store.keep_image(ImageRecord(image="x", provisioner_class="y", digest=DIGEST, bundles=("b",)))
    (foreign,) = set(files(tmp_path)) - {IMAGE_FILE}
    (tmp_path / "records" / foreign).replace(tmp_path / "records" / IMAGE_FILE)
    assert store.image(REF, IMAGE.provisioner_class) is None


def test_records_go_with_their_bundles(store: RecordStore, tmp_path: Path) -> None:
    store.keep_bundle(BUNDLE)
    store.sweep(in_use(bundles=(BUNDLE.uid,)))
    assert files(tmp_path) == [BUNDLE_FILE]
    store.sweep(in_use(installed={(BUNDLE.deployment, DIGEST)}))
    assert files(tmp_path) == [BUNDLE_FILE], "its deployment has it installed although the Bundle is gone"
    store.sweep(in_use(installed={(BUNDLE.deployment, f"sha256:{9:064}")}))
    assert files(tmp_path) == []


def test_only_proofs_of_what_exists_are_kept(store: RecordStore, tmp_path: Path) -> None:
    store.keep_image(IMAGE)
    store.sweep(in_use(bundles=("b2",)))
    found = store.image(REF, IMAGE.provisioner_class)
    assert found is not None
    assert (found.bundles, found.deployments) == (("b2",), ())
    store.sweep(in_use())
    assert files(tmp_path) == []


def test_a_sweep_leaves_what_is_not_ours(store: RecordStore, tmp_path: Path) -> None:
    store.keep_bundle(BUNDLE)
    (tmp_path / "records" / "notes.txt").write_text("mine")
    store.sweep(in_use())
    assert files(tmp_path) == ["notes.txt"]


def test_temporary_files_of_a_crash_are_removed(
    store: RecordStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def kill(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", kill)
        patch.setattr(os, "rename", kill)
        with pytest.raises(Killed):
            store.keep_bundle(BUNDLE)
    assert len(files(tmp_path)) == 1
    assert store.bundles() == {}
    store.remove_temporary()
    assert files(tmp_path) == []


def test_a_directory_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "records").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreUnavailableError):
        RecordStore(tmp_path).bundles()

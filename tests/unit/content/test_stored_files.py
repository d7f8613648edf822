"""Files of the store that the disk changed or shortened: never used, whatever their times say."""

import gzip
import hashlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from rukpak_py.content import checksums
from rukpak_py.content.checksums import Checksum, Checksums
from rukpak_py.content.store import Store, StoredForm
from rukpak_py.content.tar import read_archive, write_tar
from rukpak_py.content.tree import Tree
from rukpak_py.core.limits import Limits
from tests.unit.bundles import tree_of

TREE = tree_of({"manifests/a.yaml": "kind: x\n", "manifests/b.yaml": "kind: y\n" * 1000})
CONVERTED = tree_of({"manifests/converted.yaml": "kind: z\n"})
NAME = f"{TREE.digest.replace(':', '-')}.tgz"
FORMS = {StoredForm.ORIGINAL: NAME, StoredForm.CONVERTED: NAME.replace(".tgz", ".converted.tgz")}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path)
    store.put(TREE, CONVERTED)
    return store


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How large the files were that were hashed. Every file counts as old enough to be remembered."""
    sizes: list[int] = []
    real = hashlib.file_digest

    def counting(file: object, kind: str) -> object:
        sizes.append(os.fstat(file.fileno()).st_size)  # type: ignore[attr-defined]
        return real(file, kind)  # type: ignore[arg-type]

    monkeypatch.setattr(hashlib, "file_digest", counting)
    monkeypatch.setattr(checksums, "_TICK_NS", -1)
    return sizes


def content(store: Store, name: str = NAME) -> Path:
    return store.directory / "content" / name


def read(store: Store, form: StoredForm = StoredForm.ORIGINAL) -> Tree | None:
    file = store.open_archive(TREE.digest, form)
    if file is None:
        return None
    with file:
        return read_archive([file.read()])


def with_its_times(path: Path, change: Callable[[Path], object]) -> None:
    """The mtime says that nothing happened."""
    before = path.stat()
    change(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def exchange(path: Path) -> None:
    """For a valid archive of other content, of the same size as far as gzip allows."""
    other = gzip.compress(b"".join(write_tar(tree_of({"manifests/a.yaml": "kind: hostile\n"}))), mtime=0)
    path.write_bytes(other)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "flipped": flip,
    "shortened": shorten,
    "exchanged": exchange,
    "emptied": lambda path: path.write_bytes(b""),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_not_served_and_counts_as_lost(
    store: Store, damage: Callable[[Path], object], form: StoredForm, caplog: pytest.LogCaptureFixture
) -> None:
    assert read(store, form) is not None, "it was read before, and is remembered"
    with_its_times(content(store, FORMS[form]), damage)
    assert store.open_archive(TREE.digest, form) is None
    assert str(content(store)) in caplog.text
    assert not store.has(TREE.digest), "in no form"
    assert not any((store.directory / "content").iterdir())
    store.put(TREE, CONVERTED)
    assert (read(store), read(store, StoredForm.CONVERTED)) == (TREE, CONVERTED)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_not_loaded(store: Store, damage: Callable[[Path], object]) -> None:
    assert store.get(TREE.digest) == TREE
    with_its_times(content(store), damage)
    assert store.get(TREE.digest) is None
    assert not store.has(TREE.digest)


def test_a_damaged_file_is_written_again_by_what_is_put(store: Store) -> None:
    flip(content(store))
    store.put(TREE, CONVERTED)
    assert read(store) == TREE


def test_a_file_is_hashed_once_until_it_changes(store: Store, hashed: list[int]) -> None:
    for _ in range(20):
        assert read(store) == TREE
        assert store.get(TREE.digest) == TREE
    assert hashed == [content(store).stat().st_size]
    content(store).touch()
    assert read(store) == TREE
    assert read(store) == TREE
    assert len(hashed) == 2, "its times are others: it may have been changed"


def test_a_file_of_another_size_is_not_even_hashed(store: Store, hashed: list[int]) -> None:
    shorten(content(store))
    assert read(store) is None
    assert hashed == []


def test_a_file_that_was_changed_just_now_is_not_remembered(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another change within one tick of the clock would have the same times."""
    monkeypatch.setattr(checksums, "_TICK_NS", 3600 * 10**9)
    before = content(store).stat()
    assert read(store) == TREE
    flip(content(store))
    monkeypatch.setattr(checksums, "_identity", lambda _: checksums._identity_of(before))
    assert read(store) is None


def test_remembered_checksums_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checksums, "_MOST_REMEMBERED", 3)
    monkeypatch.setattr(checksums, "_TICK_NS", -1)
    checks, store = Checksums(), Store(tmp_path)
    monkeypatch.setattr(store, "_checks", checks)
    for number in range(9):
        assert store.get(store.put(tree_of({"manifests/a": str(number)}))) is not None
    assert len(checks._whole) == 3


def test_the_checksum_is_there_before_the_file_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    real = os.rename

    def rename(source: str, target: str, **more: int) -> None:
        names.append(target)
        real(source, target, **more)

    monkeypatch.setattr(os, "rename", rename)
    Store(tmp_path).put(TREE)
    assert names == [f"{NAME}.json", NAME]


def test_the_format_of_a_checksum(store: Store) -> None:
    """Golden: files of this release are read by later ones."""
    data = content(store).read_bytes()
    expected = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "version": 1}
    written = (store.directory / "checksums" / f"{NAME}.json").read_bytes()
    assert written == json.dumps(expected, separators=(",", ":"), sort_keys=True).encode()


FORMER: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: path.unlink(),
    "damaged": lambda path: path.write_bytes(b"{"),
    "of a later release": lambda path: path.write_bytes(b'{"version":2,"size":1,"sha256":"0"}'),
}


@pytest.mark.parametrize("lose", FORMER.values(), ids=FORMER)
def test_a_file_without_a_checksum_is_verified_by_its_digest_once(
    tmp_path: Path, lose: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    store.put(TREE)
    lose(tmp_path / "checksums" / f"{NAME}.json")
    archives: list[Tree] = []

    def counting(chunks: Iterable[bytes], *, limits: Limits) -> Tree:
        archives.append(read_archive(chunks, limits=limits))
        return archives[-1]

    monkeypatch.setattr("rukpak_py.content.store.read_archive", counting)
    for _ in range(5):
        assert read(store) == TREE
    assert len(archives) == 1
    assert (tmp_path / "checksums" / f"{NAME}.json").read_bytes() == _checksum(content(store).read_bytes())


def test_a_file_without_a_checksum_that_has_not_its_digest_is_lost(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put(TREE)
    (tmp_path / "checksums" / f"{NAME}.json").unlink()
    exchange(content(store))
    assert read(store) is None
    assert not store.has(TREE.digest)


def test_a_converted_form_of_an_operator_that_kept_no_checksums_is_served(store: Store) -> None:
    checksum = store.directory / "checksums" / f"{FORMS[StoredForm.CONVERTED]}.json"
    before = checksum.read_bytes()
    checksum.unlink()
    assert read(store, StoredForm.CONVERTED) is not None
    assert checksum.read_bytes() == before


def test_a_converted_form_without_a_checksum_that_is_cut_off_is_lost_with_its_content(store: Store) -> None:
    name = FORMS[StoredForm.CONVERTED]
    (store.directory / "checksums" / f"{name}.json").unlink()
    path = store.directory / "content" / name
    path.write_bytes(path.read_bytes()[:-1])
    assert read(store, StoredForm.CONVERTED) is None
    assert not store.has(TREE.digest)


def test_link_of_a_bundle_is_recognised_by_its_digest_in_every_form(store: Store) -> None:
    assert not store.is_linked("b", TREE.digest)
    assert not store.is_linked("b", "../anything")
    for form in StoredForm:
        store.link("b", TREE.digest, form)
        assert store.is_linked("b", TREE.digest)
        assert not store.is_linked("b", f"sha256:{1:064}")
    (store.directory / "content" / NAME).unlink()
    assert not store.is_linked("b", TREE.digest), "it is lost"


def test_checksums_go_with_their_files(store: Store) -> None:
    store.sweep({TREE.digest}, set())
    assert len(list((store.directory / "checksums").iterdir())) == 2
    store.sweep(set(), set())
    assert list((store.directory / "checksums").iterdir()) == []


def test_a_damaged_file_that_cannot_be_removed_is_not_used(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The disk cannot be written any more."""
    flip(content(store))

    def unlink(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", unlink)
        for _ in range(3):
            assert read(store) is None
            assert not store.has(TREE.digest)
    assert caplog.text.count("cannot be removed") == 1
    store.put(TREE, CONVERTED)
    assert store.has(TREE.digest)
    assert read(store) == TREE


def _checksum(data: bytes) -> bytes:
    checksum = Checksum(size=len(data), sha256=hashlib.sha256(data).hexdigest())
    return json.dumps({"sha256": checksum.sha256, "size": checksum.size, "version": 1}, separators=(",", ":")).encode()

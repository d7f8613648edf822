"""Renderings on disk: only their owner can read them, damaged ones are lost, and only kept ones stay."""

import os
import stat
from pathlib import Path

import pytest

from rukpak_py.content.renderings import FOLDER, RenderingStore
from rukpak_py.core.errors import UnavailableError

KEY, OTHER = "a" * 64, "b" * 64
PIECES = [b"password\n", b"hunter2\n"]


@pytest.fixture
def store(tmp_path: Path) -> RenderingStore:
    return RenderingStore(tmp_path / "bundles", most=100)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "bundles" / FOLDER


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_stored_rendering_comes_back(store: RenderingStore) -> None:
    assert store.get(KEY) is None
    store.put(KEY, PIECES)
    assert store.get(KEY) == b"password\nhunter2\n"
    assert store.get(OTHER) is None
    store.put(KEY, [b"again"])
    assert store.get(KEY) == b"again"


def test_only_the_operator_reads_them(store: RenderingStore, folder: Path) -> None:
    before = os.umask(0)
    try:
        store.put(KEY, PIECES)
    finally:
        os.umask(before)
    assert (mode(folder), mode(folder / KEY)) == (0o700, 0o600)
    folder.chmod(0o777)
    store.get(KEY)
    assert mode(folder) == 0o700


@pytest.mark.parametrize("damaged", [b"", b"short", b"0" * 64 + b"password\nhunter2\n"])
def test_damaged_rendering_is_lost(store: RenderingStore, folder: Path, damaged: bytes) -> None:
    store.put(KEY, PIECES)
    (folder / KEY).write_bytes(damaged)
    assert store.get(KEY) is None
    assert not (folder / KEY).exists()


def test_rendering_beyond_the_limit_is_lost(store: RenderingStore) -> None:
    store.put(KEY, [b"x" * 100])
    assert store.get(KEY) == b"x" * 100
    store.put(KEY, [b"x" * 101])
    assert store.get(KEY) is None


def test_a_link_is_not_followed(store: RenderingStore, folder: Path, tmp_path: Path) -> None:
    store.put(KEY, PIECES)
    (folder / OTHER).symlink_to(folder / KEY)
    assert store.get(OTHER) is None


def test_a_sweep_leaves_what_is_kept(store: RenderingStore, folder: Path) -> None:
    store.put(KEY, PIECES)
    store.put(OTHER, PIECES)
    (folder / ".tmp-0123456789abcdef").touch()  # of a crash
    store.sweep({KEY})
    assert [path.name for path in folder.iterdir()] == [KEY]


def test_a_store_that_cannot_be_written_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "bundles").touch()
    with pytest.raises(UnavailableError, match=r"the store of renderings .*/renderings failed: "):
        RenderingStore(tmp_path / "bundles", most=100).put(KEY, PIECES)


@pytest.mark.parametrize("key", ["", "../" + "a" * 61, "A" * 64, "a" * 63])
def test_a_key_is_no_path(store: RenderingStore, key: str) -> None:
    with pytest.raises(ValueError, match="is not the key of a rendering"):
        store.put(key, PIECES)

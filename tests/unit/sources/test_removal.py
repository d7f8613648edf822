"""Directories go, whatever is in them."""

import os
from pathlib import Path

from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.sources.spool import Spool, remove_directory

DEEP = 2500


def deepen(directory: Path) -> None:
    """Deeper than a path or a stack may be, with a file at each level."""
    at = os.open(directory, os.O_RDONLY)
    for _ in range(DEEP):
        os.close(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=at))
        os.mkdir("d", dir_fd=at)
        inner = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)


def test_a_deep_directory_goes(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    deepen(top)
    (top / ".removed-0").mkdir()
    remove_directory(top)
    assert not top.exists()


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "f").touch()
    top = tmp_path / "top"
    (top / "inner").mkdir(parents=True)
    (top / "link").symlink_to(tmp_path / "kept")
    (top / "inner" / "link").symlink_to(tmp_path / "kept")
    remove_directory(top)
    assert not top.exists()
    assert (tmp_path / "kept" / "f").exists()


def test_missing_directory_is_no_error(tmp_path: Path) -> None:
    remove_directory(tmp_path / "none")


def test_a_deep_directory_that_a_killed_process_left_goes(tmp_path: Path) -> None:
    left = tmp_path / "rukpak-spool-left"
    left.mkdir()
    deepen(left)
    Spool(DEFAULT_LIMITS, tmp_path).remove_abandoned()
    assert not left.exists()


def test_the_directory_of_a_spool_goes_with_it(tmp_path: Path) -> None:
    spool = Spool(DEFAULT_LIMITS, tmp_path)
    deepen(spool.directory())
    spool.close()
    assert list(tmp_path.iterdir()) == []

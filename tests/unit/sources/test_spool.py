"""Temporary files of what arrives: one budget, in which the largest gives way, and nothing that stays behind."""

from dataclasses import replace
from pathlib import Path

import pytest

from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.sources import spool as module
from rukpak_py.sources.spool import Spool


def spool(parent: Path, most: int = 100) -> Spool:
    return Spool(replace(DEFAULT_LIMITS, spool_bytes=most), parent)


def test_a_file_is_there_for_other_processes_of_this_user_until_it_is_closed(tmp_path: Path) -> None:
    one = spool(tmp_path)
    with one.file() as file:
        file.write(b"abc")
        file.complete()
        assert file.path.read_bytes() == b"abc"
        assert file.path.stat().st_mode & 0o077 == 0
        assert file.path.parent.stat().st_mode & 0o077 == 0
        assert one.used == 3
    assert not file.path.exists()
    assert one.used == 0


def test_the_largest_gives_way(tmp_path: Path) -> None:
    one = spool(tmp_path)
    with one.file() as large, one.file() as small:
        large.write(bytes(90))
        small.write(bytes(20))  # there is room for it soon
        with pytest.raises(UnavailableError, match="RUKPAK_LIMIT_SPOOL_BYTES"):
            large.write(b"x")
        large.close()
        small.write(bytes(70))
        assert one.used == 90


def test_complete_file_keeps_its_share_when_another_grows(tmp_path: Path) -> None:
    one = spool(tmp_path)
    with one.file() as complete, one.file() as growing:
        complete.write(bytes(90))
        complete.complete()
        with pytest.raises(UnavailableError):
            growing.write(bytes(20))
        assert complete.path.stat().st_size == 90


def test_files_of_one_fetch_count_together(tmp_path: Path) -> None:
    one = spool(tmp_path)
    share = one.share()
    with one.file(share) as first, one.file(share) as second, one.file() as other:
        first.write(bytes(40))
        second.write(bytes(40))
        other.write(bytes(50))
        with pytest.raises(UnavailableError):
            second.write(b"x")
    assert one.used == 80, "files of a share leave its size to its owner"
    share.release()
    assert one.used == 0


def test_a_thread_that_writes_after_the_end_takes_no_space_for_ever(tmp_path: Path) -> None:
    one = spool(tmp_path)
    file = one.file()
    file.close()
    with pytest.raises(UnavailableError):
        file.write(b"late")
    assert one.used == 0


def test_a_directory_that_a_killed_process_left_is_removed_and_one_in_use_is_not(tmp_path: Path) -> None:
    used = spool(tmp_path)
    with used.file() as file:
        left = tmp_path / "rukpak-spool-left"
        left.mkdir()
        (left / "key").write_text("secret")
        (tmp_path / "rukpak-spool-link").symlink_to("/etc")
        spool(tmp_path).remove_abandoned()
        assert not left.exists()
        assert file.path.exists()
        assert Path("/etc/passwd").exists()


def test_the_directory_comes_back_when_it_was_removed(tmp_path: Path) -> None:
    one = spool(tmp_path)
    with one.file() as file:
        pass
    file.path.parent.rmdir()
    with one.file() as file:
        file.write(b"x")
        file.complete()
        assert file.path.read_bytes() == b"x"


def test_a_directory_that_was_removed_leaves_no_descriptor(tmp_path: Path) -> None:
    one = spool(tmp_path)
    opened = set()
    for _ in range(3):
        with one.file() as file:
            opened.add(sum(1 for _ in Path("/proc/self/fd").iterdir()))
        file.path.parent.rmdir()
    assert len(opened) == 1
    one.close()


def test_shares_do_not_wait_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = spool(tmp_path)
    made = module._made_and_locked

    def make(parent: Path) -> tuple[Path, int]:
        assert not one._budget._lock.locked(), "the event loop would wait"
        return made(parent)

    monkeypatch.setattr(module, "_made_and_locked", make)
    with one.file():
        pass


def test_closing_removes_everything(tmp_path: Path) -> None:
    one = spool(tmp_path)
    with one.file() as file:
        file.write(b"x")
        (one.directory() / "key").touch()
        one.close()
        assert not any(tmp_path.iterdir())


def test_a_large_one_that_was_refused_and_stalls_lets_no_other_grow_as_large(tmp_path: Path) -> None:
    """Its bytes go at its next write; until then they are there, and the budget counts for the others."""
    one = spool(tmp_path)
    with one.file() as stalled, one.file() as second, one.file() as third:
        stalled.write(bytes(90))
        second.write(bytes(50))
        third.write(bytes(40))
        with pytest.raises(UnavailableError):
            second.write(bytes(20))
        assert one.used <= 90 + 100 + 20

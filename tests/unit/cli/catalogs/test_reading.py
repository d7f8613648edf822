"""Files read in several processes and from the cache give what one process gives without it."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from rukpak_py.catalog.checks.blob_checks import Checks
from rukpak_py.catalog.read_file import FileContent
from rukpak_py.cli.catalogs import reading
from rukpak_py.cli.catalogs.cache import Cache
from rukpak_py.cli.catalogs.reading import Reading
from rukpak_py.core.limits import Limits

FILES = {
    "a.yaml": b"schema: olm.package\nname: p\ndefaultChannel: 1\n",
    "b.yaml": b"schema: olm.bundle\npackage: p\nname: p.v1\nproperties:\n"
    b"- {type: olm.package, value: {packageName: p, version: 1.0.0, n: 1.5}}\n- {type: x}\n",
    "c.json": b'{"schema": "custom", "value": [1, {"a": null}]}',
}


class Counted(Mapping[str, bytes]):
    """Files that count how often they are read in this process."""

    def __init__(self) -> None:
        self.reads: list[str] = []

    def __getitem__(self, path: str) -> bytes:
        self.reads.append(path)
        return FILES[path]

    def __iter__(self) -> Iterator[str]:
        return iter(FILES)

    def __len__(self) -> int:
        return len(FILES)


def read(files: Mapping[str, bytes], **given: object) -> list[tuple[str, FileContent]]:
    sizes = {path: len(data) for path, data in FILES.items()}
    return list(Reading(limits=Limits(), **given).contents(files, sizes))  # type: ignore[arg-type]  # as the test gives


def test_several_processes_read_what_one_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = read(FILES, jobs=1)
    monkeypatch.setattr(reading, "_WORTH_PROCESSES", 1)
    files = Counted()
    assert read(files, jobs=2) == expected
    assert files.reads == []  # the workers have read them
    assert [path for path, _ in expected] == list(FILES)


def test_contents_are_kept_by_the_bytes_of_their_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path)
    expected = read(FILES, cache=cache)
    monkeypatch.setattr(reading, "read_file", None)  # a call would fail
    assert read(FILES, cache=cache) == expected


@pytest.mark.parametrize("given", [{"is_slim": True}, {"checks": Checks.LINT}])
def test_contents_that_were_read_in_another_way_are_not_used(tmp_path: Path, given: dict[str, object]) -> None:
    cache = Cache(tmp_path)
    read(FILES, cache=cache)
    assert read(FILES, cache=cache, **given) == read(FILES, **given)


def test_another_program_reads_files_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path)
    read(FILES, cache=cache)
    before = len(list(tmp_path.iterdir()))
    monkeypatch.setattr("rukpak_py.cli.catalogs.cache._program", lambda: "another")
    read(FILES, cache=cache)
    assert len(list(tmp_path.iterdir())) == 2 * before


def test_cache_that_others_can_write_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert Cache.of_user() is not None
    (tmp_path / "rukpak-py/catalogs").chmod(0o777)
    assert Cache.of_user() is None


def test_a_damaged_entry_is_read_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    expected = read(FILES, cache=cache)
    for entry in tmp_path.iterdir():
        entry.write_bytes(entry.read_bytes()[:-1] + b"x")
    assert read(FILES, cache=cache) == expected


def test_a_cache_that_cannot_be_written_is_none(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "missing")
    assert read(FILES, cache=cache) == read(FILES)


def test_old_entries_go_when_there_is_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path)
    for number in range(4):
        cache.put(f"key{number}", bytes(1000))
        (tmp_path / f"key{number}").touch()
    monkeypatch.setattr("rukpak_py.cli.catalogs.cache._MOST_BYTES", 2500)
    for number, when in enumerate((4, 3, 2, 1)):
        os.utime(tmp_path / f"key{number}", (when, when))
    cache.clean()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["key0", "key1"]


@pytest.mark.parametrize(
    ("key", "size", "times"), [("00a", 10, 0), ("000", 10, 1), ("00a", 70_000, 1), ("0a0", 70_000, 0)]
)
def test_small_entries_are_cleaned_up_more_rarely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, size: int, times: int
) -> None:
    cleaned: list[Cache] = []
    monkeypatch.setattr(Cache, "clean", lambda cache: cleaned.append(cache))  # noqa: PLW0108 - a method
    Cache(tmp_path).put(key, bytes(size))
    assert len(cleaned) == times

"""Catalogs that change, are damaged or cannot be read while they are read, in one process and in several."""

import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from rukpak_py.cli.catalogs import directory, reading
from rukpak_py.cli.catalogs.cache import Cache
from rukpak_py.cli.catalogs.directory import read_directory
from rukpak_py.cli.catalogs.reading import Reading, mapped
from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from tests.unit.catalog.samples import sample, stream
from tests.unit.cli.catalogs.conftest import WriteCatalog
from tests.unit.cli.running import CommandLine, program

VALID = sample("v1")


@pytest.fixture(params=[1, 2])
def jobs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(reading, "_WORTH_PROCESSES", 1)
    return str(request.param)


Change = Callable[[Path], object]


def grow(path: Path) -> None:
    path.write_bytes(bytes(2_000))


def replace_by_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def replace_by_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link_elsewhere(path: Path) -> None:
    (path.parent.parent / "secret").write_text("secret")
    path.unlink()
    path.symlink_to("../secret")


def remove(path: Path) -> None:
    path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (Path.unlink, "z.yaml: was removed while the catalog was read"),
        (replace_by_directory, "z.yaml: cannot be read: Is a directory"),
        (replace_by_fifo, "z.yaml: is not a regular file any more"),
        (link_elsewhere, "z.yaml: is a link out of the catalog now"),
    ],
)
def test_file_that_changes_after_it_was_listed_is_a_failure(  # noqa: PLR0917 - fixtures and a table
    rukpakctl: CommandLine,
    write_catalog: WriteCatalog,
    monkeypatch: pytest.MonkeyPatch,
    jobs: str,
    change: Change,
    told: str,
) -> None:
    root = write_catalog(VALID)
    path = root / "z.yaml"
    real = read_directory

    def listed(root: Path, *, limits: Limits = DEFAULT_LIMITS) -> directory.DirectoryFiles:
        found = real(root, limits=limits)
        change(path)
        return found

    monkeypatch.setattr("rukpak_py.cli.catalogs.opening.read_directory", listed)
    for command in ("validate", "render", "images"):
        remove(path)
        path.write_text("schema: x\n")
        ran = rukpakctl("catalog", command, root, "--jobs", jobs)
        assert ran.status == 3
        assert told in " ".join((ran.out + ran.err).split())
        assert "secret" not in ran.out


def test_file_that_grew_beyond_the_limit_is_refused(write_catalog: WriteCatalog) -> None:
    root = write_catalog(VALID)
    files = read_directory(root, limits=Limits(catalog_bytes=1_000))
    grow(root / "catalog.json")
    with pytest.raises(ContentError, match="RUKPAK_LIMIT_CATALOG_BYTES"):
        files["catalog.json"]


def test_file_that_grows_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(b"{}")
    real = os.fstat

    def grown(descriptor: int) -> os.stat_result:
        status = real(descriptor)
        grow(path)
        return status

    monkeypatch.setattr(os, "fstat", grown)
    with pytest.raises(UnavailableError, match="grew while it was read"):
        read_directory(tmp_path)["c.json"]


@pytest.mark.parametrize(
    ("error", "expected"),
    [(PermissionError, AccessError), (OSError, UnavailableError), (IsADirectoryError, RukPakError)],
)
def test_directory_that_cannot_be_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[OSError], expected: type[Exception]
) -> None:
    def refuse(path: Path) -> None:
        raise error(5, "Input/output error", str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(expected, match=str(tmp_path)):
        read_directory(tmp_path)


def test_names_that_are_not_utf_8_are_findings(rukpakctl: CommandLine, write_catalog: WriteCatalog) -> None:
    root = write_catalog(VALID)
    (root / os.fsdecode(b"\xff.json")).write_bytes(b'{"schema": "x"}')
    (root / os.fsdecode(b"d\xfe")).mkdir()
    for output in ("text", "json", "sarif", "github"):
        ran = rukpakctl("catalog", "validate", root, "-o", output)
        assert ran.status == 1
        assert "has a name that is not UTF-8" in ran.out
    assert rukpakctl("catalog", "render", root).status == 3


class Fatal(Mapping[str, bytes]):
    """Files of which one kills the process that reads it."""

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def __getitem__(self, path: str) -> bytes:
        if path == "fatal":
            os.kill(os.getpid(), signal.SIGKILL)
        return b"{}"

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def test_process_that_dies_is_a_failure_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_WORTH_PROCESSES", 1)
    files = Fatal([*map(str, range(50)), "fatal"])
    with pytest.raises(UnavailableError, match=r"ran out of memory: `--jobs 1`"):
        list(mapped(files, dict.fromkeys(files, 10), lambda _, data: data, jobs=2))
    assert list(mapped({"a": b"1", "b": b"2"}, {"a": 1, "b": 1}, lambda _, data: data, jobs=2)) == [
        ("a", b"1"),
        ("b", b"2"),
    ]


def test_cache_entry_of_another_program_is_read_again(tmp_path: Path) -> None:
    files = {"c.json": stream(VALID)}
    cached = Reading(limits=Limits(), cache=Cache(tmp_path))
    expected = list(cached.contents(files, {"c.json": 1}))
    (entry,) = tmp_path.iterdir()
    for content in (b"\xc1", b"\x81\xa7catalog\x01"):
        Cache(tmp_path).put(entry.name, content)
        assert list(cached.contents(files, {"c.json": 1})) == expected


def test_full_disk_costs_the_cache_only(
    rukpakctl: CommandLine, write_catalog: WriteCatalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fdopen

    def full(descriptor: int, mode: str) -> object:
        if mode == "wb":
            os.close(descriptor)
            raise OSError(28, "No space left on device")
        return real(descriptor, mode)

    monkeypatch.setattr(os, "fdopen", full)
    ran = rukpakctl("catalog", "list", "packages", write_catalog(VALID))
    assert (ran.status, ran.err) == (0, "")
    assert list((tmp_path / "cache/rukpak-py/catalogs").iterdir()) == []


def test_ctrl_c_ends_the_reading_of_large_files_at_once(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.yaml").write_bytes(b"schema: x\nvalue:\n" + b"- a: 1\n" * 500_000)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = [program(), "catalog", "render", str(tmp_path), "--jobs", "2", "--no-cache"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while process.poll() is None and len(children.read_text().split()) < 2:
            time.sleep(0.01)
        time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"")
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before  # a busy machine does not change it
    assert used < 4

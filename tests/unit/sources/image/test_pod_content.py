"""Content out of a container: in rounds, within limits, and at an end however that comes. Real ones need a node."""

import asyncio
import tarfile
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from rukpak_py.api.names import PLAIN_CLASS
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.sources.image import pod_content
from rukpak_py.sources.image.pod_content import PodContent
from rukpak_py.sources.image.received_files import ReceivedFiles
from rukpak_py.sources.source import no_wait
from rukpak_py.sources.spool import Spool
from tests.unit.images import Entry, layer, symlink
from tests.waiting import until
from tests.workers import SPOOL, WORKERS

Files = Mapping[str, bytes | Entry]
LONGEST_COMMAND = 64 * 1024


@dataclass
class Container:
    """Answers as its tool does for these files."""

    files: Files
    fails_after: int | None = None  # bytes of the first archive
    hangs: bool = False
    asked: list[Sequence[str]] = field(default_factory=list)
    is_closed: bool = False

    async def run(self, command: Sequence[str], end: str) -> AsyncGenerator[bytes, None]:
        _tool, _shell, _flag, script, _name, word, *paths = command
        assert word == end
        self.asked.append(paths)
        if script == pod_content._ROOT_NAMES:
            yield "".join(f"/{name}\0" for name in {path.partition("/")[0] for path in self.files}).encode()
            return
        chosen = {path: entry for path, entry in self.files.items() if self._is_wanted(path, entry, script, paths)}
        data = layer(chosen)
        try:
            for start in range(0, len(data), 1000):
                if self.fails_after is not None and start >= self.fails_after:
                    raise UnavailableError("the connection broke off")
                yield data[start : start + 1000]
            if self.hangs:
                await asyncio.Event().wait()
        finally:
            self.is_closed = True

    @staticmethod
    def _is_wanted(path: str, entry: bytes | Entry, script: str, paths: Sequence[str]) -> bool:
        if script == pod_content._LINKS:
            return path in paths and isinstance(entry, Entry) and entry.type == tarfile.SYMTYPE
        return any(path == one or path.startswith(f"{one}/") for one in paths)


@pytest.fixture
def files() -> Iterator[ReceivedFiles]:
    with ReceivedFiles(SPOOL) as files:
        yield files


async def read(container: Container, files: ReceivedFiles, limits: Limits = DEFAULT_LIMITS) -> Tree:
    return await PodContent(container.run, files, WORKERS, class_name=PLAIN_CLASS, limits=limits).tree(no_wait)


async def tree_of(of_image: Files, files: ReceivedFiles, limits: Limits = DEFAULT_LIMITS) -> Tree:
    return await read(Container(of_image), files, limits)


async def test_only_kept_paths_are_asked_for(files: ReceivedFiles) -> None:
    container = Container({"manifests/a": b"1", "usr/x": b"2", "proc/1/environ": b"3"})
    assert dict(await read(container, files)) == {"manifests/a": b"1"}
    assert container.asked == [[], ["manifests"]]


async def test_an_image_without_any_of_them_is_empty(files: ReceivedFiles) -> None:
    assert dict(await tree_of({"usr/x": b"2"}, files)) == {}


async def test_targets_of_links_are_asked_for_when_the_way_is_known(files: ReceivedFiles) -> None:
    container = Container(
        {"manifests/a": symlink("/opt/now/a"), "opt/now": symlink("v2"), "opt/v2/a": b"1", "opt/v1/a": b"0"}
    )
    assert dict(await read(container, files)) == {"manifests/a": b"1"}
    assert container.asked[2:] == [["opt", "opt/now", "opt/now/a"], ["opt/v2", "opt/v2/a"], ["opt/v2/a"]]


@pytest.mark.parametrize(
    "target",
    ["/proc/1/environ", "/dev/zero", "/etc/resolv.conf", "/etc", "/.rukpak/busybox", "/sys", "../opt/x/1/environ"],
)
async def test_links_to_what_is_mounted_are_refused_before_it_is_read(files: ReceivedFiles, target: str) -> None:
    container = Container({"manifests/a": symlink(target), "opt/x": symlink("/proc"), "proc/1/environ": b"SECRET=1"})
    with pytest.raises(ContentError, match="which is not a file of the image"):
        await read(container, files)
    assert not any(path.startswith("proc") for paths in container.asked for path in paths)


async def test_a_ring_of_links_ends(files: ReceivedFiles) -> None:
    with pytest.raises(ContentError, match="never ends at a file"):
        await tree_of({"manifests/a": symlink("/opt/b"), "opt/b": symlink("/opt/c"), "opt/c": symlink("b")}, files)


async def test_links_to_nothing_are_told(files: ReceivedFiles) -> None:
    with pytest.raises(ContentError, match="'opt/b', which is not a file of the image that is read"):
        await tree_of({"manifests/a": symlink("/opt/b")}, files)


async def test_commands_stay_short_however_many_links_there_are(files: ReceivedFiles) -> None:
    long = "x" * 100
    links: dict[str, bytes | Entry] = {f"manifests/{one}": symlink(f"/opt/{long}/{one}") for one in range(1000)}
    container = Container(links | {f"opt/{long}/{one}": b"1" for one in range(1000)})
    assert len(await read(container, files)) == 1000
    assert max(sum(map(len, paths)) for paths in container.asked) < LONGEST_COMMAND


async def test_c2_links_that_ask_for_everything_are_refused_and_the_loop_stays_free(
    files: ReceivedFiles,
) -> None:
    deep = {"manifests/a": symlink("/" + "/".join("b" * 40))}
    with pytest.raises(ContentError, match="the depth of path"):
        await tree_of(deep, files)
    many = {f"manifests/{one}": symlink(f"/{one}/b/c/d/e/f/g") for one in range(1000)}
    with pytest.raises(ContentError, match="through more than 4096 files and directories"):
        await tree_of(many, files)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (replace(DEFAULT_LIMITS, content_files=2), "content_files|number of files"),
        (replace(DEFAULT_LIMITS, file_bytes=5), "size of file"),
        (replace(DEFAULT_LIMITS, image_bytes=2000), "size of all layers together"),
    ],
)
async def test_limits_hold_while_reading(files: ReceivedFiles, limits: Limits, message: str) -> None:
    container = Container({f"manifests/{one}": b"0123456789" for one in range(200)})
    with pytest.raises(ContentError, match=message):
        await read(container, files, limits)
    assert container.is_closed, "nobody goes on sending"


async def test_an_archive_that_breaks_off_is_nobodys_fault(files: ReceivedFiles) -> None:
    container = Container({"manifests/a": b"x" * 10_000}, fails_after=3000)
    with pytest.raises(UnavailableError, match="broke off"):
        await read(container, files)


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_a_job_that_ends_leaves_no_file_behind(tmp_path: Path) -> None:
    spool = Spool(DEFAULT_LIMITS, tmp_path)

    async def fetch() -> Tree:
        with ReceivedFiles(spool) as files:
            return await read(container, files)

    container = Container({"manifests/a": b"x"}, hangs=True)
    job = asyncio.create_task(fetch())
    await until(lambda: len(container.asked) == 2)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert container.is_closed
    assert (spool.used, files_in(tmp_path)) == (0, [])


async def test_a_pod_that_sends_endlessly_is_stopped_by_the_spool(files: ReceivedFiles, tmp_path: Path) -> None:
    del files
    spool = Spool(replace(DEFAULT_LIMITS, spool_bytes=100_000), tmp_path)
    container = Container({"manifests/a": b"x" * 300_000})
    with ReceivedFiles(spool) as small, pytest.raises(UnavailableError, match="of content arrive at a time"):
        await read(container, small)
    assert (container.is_closed, spool.used) == (True, 0)


async def test_a_place_for_content_is_taken_when_the_pod_has_sent_it(files: ReceivedFiles) -> None:
    container = Container({"manifests/a": b"1"})
    sent: list[tuple[int, bool]] = []

    async def content_arrives() -> None:
        sent.append((len(container.asked), container.is_closed))

    content = PodContent(container.run, files, WORKERS, class_name=PLAIN_CLASS, limits=DEFAULT_LIMITS)
    assert dict(await content.tree(content_arrives)) == {"manifests/a": b"1"}
    assert sent == [(2, True)]


async def test_a_name_that_is_no_text_is_refused(files: ReceivedFiles) -> None:
    async def run(_command: Sequence[str], _end: str) -> AsyncGenerator[bytes, None]:
        yield b"/\xff\0"

    with pytest.raises(ContentError, match="not UTF-8"):
        await PodContent(run, files, WORKERS, class_name=PLAIN_CLASS, limits=DEFAULT_LIMITS).tree(no_wait)


async def test_a_root_with_endless_names_is_refused(files: ReceivedFiles) -> None:
    async def run(_command: Sequence[str], _end: str) -> AsyncGenerator[bytes, None]:
        while True:
            yield b"/a\0" * 10_000

    with pytest.raises(ContentError, match="too many files"):
        await PodContent(run, files, WORKERS, class_name=PLAIN_CLASS, limits=DEFAULT_LIMITS).tree(no_wait)

"""Content out of a container: in rounds, within limits, and at an end however that comes. Real ones need a node."""

import asyncio
import tarfile
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import pytest

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.sources.image import pod_content
from rukpak_py.sources.image.layers import below
from rukpak_py.sources.image.pod_content import PodContent
from tests.unit.images import Entry, layer, symlink
from tests.waiting import until

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
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as threads:
        yield threads


def reader(container: Container, threads: ThreadPoolExecutor, limits: Limits = DEFAULT_LIMITS) -> PodContent:
    return PodContent(container.run, threads, keep=below("manifests"), limits=limits)


async def tree_of(files: Files, threads: ThreadPoolExecutor, limits: Limits = DEFAULT_LIMITS) -> Tree:
    return await reader(Container(files), threads, limits).tree()


async def test_only_kept_paths_are_asked_for(threads: ThreadPoolExecutor) -> None:
    container = Container({"manifests/a": b"1", "usr/x": b"2", "proc/1/environ": b"3"})
    assert dict(await reader(container, threads).tree()) == {"manifests/a": b"1"}
    assert container.asked == [[], ["manifests"]]


async def test_an_image_without_any_of_them_is_empty(threads: ThreadPoolExecutor) -> None:
    assert dict(await tree_of({"usr/x": b"2"}, threads)) == {}


async def test_what_links_lead_to_is_asked_for_when_the_way_is_known(threads: ThreadPoolExecutor) -> None:
    container = Container(
        {"manifests/a": symlink("/opt/now/a"), "opt/now": symlink("v2"), "opt/v2/a": b"1", "opt/v1/a": b"0"}
    )
    assert dict(await reader(container, threads).tree()) == {"manifests/a": b"1"}
    assert container.asked[2:] == [["opt", "opt/now", "opt/now/a"], ["opt/v2", "opt/v2/a"], ["opt/v2/a"]]


@pytest.mark.parametrize(
    "target",
    ["/proc/1/environ", "/dev/zero", "/etc/resolv.conf", "/etc", "/.rukpak/busybox", "/sys", "../opt/x/1/environ"],
)
async def test_links_to_what_is_mounted_are_refused_before_it_is_read(threads: ThreadPoolExecutor, target: str) -> None:
    container = Container({"manifests/a": symlink(target), "opt/x": symlink("/proc"), "proc/1/environ": b"SECRET=1"})
    with pytest.raises(ContentError, match="which is not a file of the image"):
        await reader(container, threads).tree()
    assert not any(path.startswith("proc") for paths in container.asked for path in paths)


async def test_a_ring_of_links_ends(threads: ThreadPoolExecutor) -> None:
    with pytest.raises(ContentError, match="never ends at a file"):
        await tree_of({"manifests/a": symlink("/opt/b"), "opt/b": symlink("/opt/c"), "opt/c": symlink("b")}, threads)


async def test_links_to_nothing_are_told(threads: ThreadPoolExecutor) -> None:
    with pytest.raises(ContentError, match="'opt/b', which is not a file of the image that is read"):
        await tree_of({"manifests/a": symlink("/opt/b")}, threads)


async def test_commands_stay_short_however_many_links_there_are(threads: ThreadPoolExecutor) -> None:
    long = "x" * 100
    links: dict[str, bytes | Entry] = {f"manifests/{one}": symlink(f"/opt/{long}/{one}") for one in range(1000)}
    files = links | {f"opt/{long}/{one}": b"1" for one in range(1000)}
    container = Container(files)
    assert len(await reader(container, threads).tree()) == 1000
    assert max(sum(map(len, paths)) for paths in container.asked) < LONGEST_COMMAND


async def test_c2_links_that_ask_for_everything_are_refused_and_the_loop_stays_free(
    threads: ThreadPoolExecutor,
) -> None:
    deep = {"manifests/a": symlink("/" + "/".join("b" * 40))}
    with pytest.raises(ContentError, match="the depth of path"):
        await tree_of(deep, threads)
    many = {f"manifests/{one}": symlink(f"/{one}/b/c/d/e/f/g") for one in range(1000)}
    with pytest.raises(ContentError, match="through more than 4096 files and directories"):
        await tree_of(many, threads)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (replace(DEFAULT_LIMITS, content_files=2), "content_files|number of files"),
        (replace(DEFAULT_LIMITS, file_bytes=5), "size of file"),
        (replace(DEFAULT_LIMITS, image_bytes=2000), "size of all layers together"),
    ],
)
async def test_limits_hold_while_reading(threads: ThreadPoolExecutor, limits: Limits, message: str) -> None:
    container = Container({f"manifests/{one}": b"0123456789" for one in range(200)})
    with pytest.raises(ContentError, match=message):
        await reader(container, threads, limits).tree()
    assert container.is_closed, "nobody goes on sending"


async def test_an_archive_that_breaks_off_is_nobodys_fault(threads: ThreadPoolExecutor) -> None:
    container = Container({"manifests/a": b"x" * 10_000}, fails_after=3000)
    with pytest.raises(UnavailableError, match="broke off"):
        await reader(container, threads).tree()


async def test_a_job_that_ends_leaves_no_thread_behind(threads: ThreadPoolExecutor) -> None:
    container = Container({"manifests/a": b"x"}, hangs=True)
    job = asyncio.create_task(reader(container, threads).tree())
    await until(lambda: len(container.asked) == 2)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert container.is_closed
    await asyncio.wait_for(asyncio.to_thread(threads.shutdown), 5)


async def test_a_name_that_is_no_text_is_refused(threads: ThreadPoolExecutor) -> None:
    async def run(_command: Sequence[str], _end: str) -> AsyncGenerator[bytes, None]:
        yield b"/\xff\0"

    with pytest.raises(ContentError, match="not UTF-8"):
        await PodContent(run, threads, keep=below("manifests"), limits=DEFAULT_LIMITS).tree()


async def test_a_root_with_endless_names_is_refused(threads: ThreadPoolExecutor) -> None:
    async def run(_command: Sequence[str], _end: str) -> AsyncGenerator[bytes, None]:
        while True:
            yield b"/a\0" * 10_000

    with pytest.raises(ContentError, match="too many files"):
        await PodContent(run, threads, keep=below("manifests"), limits=DEFAULT_LIMITS).tree()

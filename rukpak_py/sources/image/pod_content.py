"""The content of an image, taken out of its unpack pod by `tar`: kept paths only, as one more layer that streams by.

The reader is that of layers, so limits, links and what is refused are the same as for an image from its registry, and
so is the digest. What links lead to is asked for in further rounds, and only when every directory on the way is known
to be one: what the node mounts into the container (/proc, for one) is not part of the image, and never read.

Scripts are constants, and paths are their arguments. A script prints a random word when all went well, and waits until
that has been read: what it said counts only then, and only with exit code 0.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Executor
from contextlib import aclosing
from functools import partial
from typing import Final, TypeVar

from rukpak_py.content.tree import Tree, clean_path
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import KIB, LINK_HOPS, Limits
from rukpak_py.sources.image.layers import ImageFiles, Keep, below
from rukpak_py.sources.image.pod_manifest import MOUNT, TOOL

T = TypeVar("T")
Run = Callable[[Sequence[str], str], AsyncGenerator[bytes, None]]
"""The output of a command that ends with the word, as `Pods.run`."""

_LISTING_BYTES: Final = 1024 * KIB
_COMMAND_BYTES: Final = 32 * KIB  # of the paths of one command: they travel in a URL
_MOST_ROUNDS: Final = 3  # of content; as many as an image is read from its registry
_MOST_WAYS: Final = 4096  # files and directories that are asked for because links lead through them
_PIECES: Final = 16  # that wait between the connection and the reader
_END: Final = """
printf %s "$end"
read -r end || exit 1
"""
_ROOT_NAMES: Final = f"""
end=$1
{TOOL} find / -xdev -mindepth 1 -maxdepth 1 -print0 || exit
{_END}"""
_TAR: Final = """
end=$1
shift
cd / || exit
for path do
  shift
  if {wanted}; then set -- "$@" "$path"; fi
done
if [ $# -gt 0 ]; then {tar} -c -f - {options} -- "$@" || exit; else {zeros} || exit; fi
{end}"""
_LINK: Final = '[ -L "$path" ]'
_ZEROS: Final = f"{TOOL} head -c 1024 /dev/zero"  # an archive of nothing, which the tool refuses to make
# Of the paths that are its arguments, the links; the files and directories that are there, with all that is in them.
_LINKS: Final = _TAR.format(wanted=_LINK, tar=f"{TOOL} tar", options="--no-recursion", zeros=_ZEROS, end=_END)
_FILES: Final = _TAR.format(wanted=f'{_LINK} || [ -e "$path" ]', tar=f"{TOOL} tar", options="", zeros=_ZEROS, end=_END)
# What the node mounts, or the runtime makes: not of the image.
MOUNTED: Final = ("dev", "proc", "sys", MOUNT, "etc/hosts", "etc/hostname", "etc/resolv.conf")
_is_mounted = below(*MOUNTED)


class PodContent:
    """Of the image in whose container `run` runs commands."""

    def __init__(self, run: Run, threads: Executor, *, keep: Keep, limits: Limits) -> None:
        self._run = run
        self._threads = threads
        self._keep = keep
        self._limits = limits
        self._image = ImageFiles(keep=keep, led_to=below(), limits=limits)

    async def tree(self) -> Tree:
        names = [name for name in await self._root_names() if self._keep(name)]
        await self._add(_FILES, names)
        held: frozenset[str] = frozenset()
        for _ in range(_MOST_ROUNDS - 1):
            ends = await self._ends()
            if ends <= held:
                break
            self._image.hold(ends)
            await self._add(_FILES, sorted(ends - held))
            held |= ends
        return await self._in_thread(self._image.tree)

    async def _root_names(self) -> list[str]:
        listing = bytearray()
        async with aclosing(self._output_of(_ROOT_NAMES)) as pieces:
            async for piece in pieces:
                listing += piece
                if len(listing) > _LISTING_BYTES:
                    raise ContentError("the root directory of the image has too many files")
        try:
            names = listing.decode()
        except UnicodeDecodeError as error:
            raise ContentError("a name in the root directory of the image is not UTF-8") from error
        return sorted(name.removeprefix("/") for name in names.split("\0") if name)

    async def _ends(self) -> frozenset[str]:
        """Where kept links lead to beside what is held, through whatever other links."""
        looked_at: set[str] = set()
        for _ in range(LINK_HOPS):
            ends, unknown = await self._in_thread(partial(self._links_to_follow, looked_at))
            if not unknown:
                return ends
            looked_at |= unknown
            await self._add(_LINKS, sorted(unknown))
        raise ContentError(f"links of the image lead through more than {LINK_HOPS} others")

    def _links_to_follow(self, looked_at: AbstractSet[str]) -> tuple[frozenset[str], set[str]]:
        """Where links lead to, and what on the way there was not looked at. It takes long where links are many."""
        ends = self._image.missed()
        unknown: set[str] = set()
        for end in ends:
            clean_path(end, self._limits)
            _check_is_of_image(end)
            unknown.update(way for way in _ways_to(end) if way not in looked_at)
            if len(unknown) + len(looked_at) > _MOST_WAYS:
                raise ContentError(f"links of the image lead through more than {_MOST_WAYS} files and directories")
        return ends, unknown

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _add(self, script: str, paths: Sequence[str]) -> None:
        for batch in _batches(paths):
            async with aclosing(self._output_of(script, *batch)) as pieces:
                await self._read(pieces)

    def _output_of(self, script: str, *paths: str) -> AsyncGenerator[bytes, None]:
        end = secrets.token_hex(16)
        return self._run((TOOL, "sh", "-c", script, "sh", end, *paths), end)

    async def _read(self, pieces: AsyncGenerator[bytes, None]) -> None:
        """The reader works in a thread; what it has not taken yet is bounded, so a slow one slows the sender down."""
        loop = asyncio.get_running_loop()
        bridge = _Bridge(loop)
        sender = asyncio.create_task(bridge.send(pieces))
        reader = loop.run_in_executor(self._threads, self._image.add, bridge.chunks())
        try:
            await asyncio.shield(reader)
        finally:
            sender.cancel()
            await asyncio.gather(sender, return_exceptions=True)
            if not reader.done():  # nobody waits for it any more: it gets an end
                reader.add_done_callback(asyncio.Future.exception)
                bridge.end()


class _Bridge:
    """From the loop to a thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._queue: asyncio.Queue[bytes | Exception | None] = asyncio.Queue(_PIECES)

    async def send(self, pieces: AsyncGenerator[bytes, None]) -> None:
        try:
            async for piece in pieces:
                await self._queue.put(piece)
            await self._queue.put(None)
        except Exception as error:  # noqa: BLE001 - the reader raises it
            await self._queue.put(error)

    def chunks(self) -> Iterator[bytes]:
        """For the thread."""
        while (piece := asyncio.run_coroutine_threadsafe(self._queue.get(), self._loop).result()) is not None:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    def end(self) -> None:
        while not self._queue.empty():
            self._queue.get_nowait()
        self._queue.put_nowait(UnavailableError("it was ended"))


def _check_is_of_image(end: str) -> None:
    if _is_mounted(end) or any(path.startswith(f"{end}/") for path in MOUNTED):
        raise ContentError(f"a link points to '/{end}', which is not a file of the image that is read")


def _ways_to(path: str) -> Iterator[str]:
    """The directories around the path, and the path itself."""
    parts = path.split("/")
    return ("/".join(parts[: count + 1]) for count in range(len(parts)))


def _batches(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    batch: list[str] = []
    size = 0
    for path in paths:
        if batch and size + len(path) > _COMMAND_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(path)
        size += len(path.encode())
    if batch:
        yield batch

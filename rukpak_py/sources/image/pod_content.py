"""The content of an image, taken out of its unpack pod by `tar`: kept paths only, as one more layer.

What the pod sends goes to files, and a worker process reads all of them once a command has ended. The reader is that of
layers, so limits, links and what is refused are the same as for an image from its registry, and so is the digest. What
links lead to is asked for in further rounds: each reading says what is missing (`pod_files`).

Scripts are constants, and paths are their arguments. A script prints a random word when all went well, and waits until
that has been read: what it said counts only then, and only with exit code 0.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from typing import Final

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import KIB, LINK_HOPS, Limits
from rukpak_py.sources.bundle_files import kept_of_image
from rukpak_py.sources.image.layers import MOST_OTHERS
from rukpak_py.sources.image.pod_files import MissingFiles, PodArchive, read_archives
from rukpak_py.sources.image.pod_manifest import TOOL
from rukpak_py.sources.image.received_files import ReceivedFiles
from rukpak_py.sources.source import Workers
from rukpak_py.sources.spool import SpoolFile

Run = Callable[[Sequence[str], str], AsyncGenerator[bytes, None]]
"""The output of a command that ends with the word, as `Pods.run`."""

_LISTING_BYTES: Final = 1024 * KIB
_COMMAND_BYTES: Final = 32 * KIB  # of the paths of one command: they travel in a URL
_MOST_ROUNDS: Final = 3  # of content; as many as an image is read from its registry
_WRITTEN_AT_ONCE: Final = 128 * KIB
_OTHER_BYTES: Final = 4 * KIB  # of a file, at most: headers and long names
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


class PodContent:
    """Content of the image in whose container `run` runs commands."""

    def __init__(self, run: Run, files: ReceivedFiles, workers: Workers, *, class_name: str, limits: Limits) -> None:
        self._run = run
        self._files = files
        self._workers = workers
        self._class_name = class_name
        self._limits = limits
        self._archives: list[PodArchive] = []
        self._received = 0

    async def tree(self, content_arrives: Callable[[], Awaitable[None]]) -> Tree:
        """`content_arrives` is awaited when what was asked for is there, before it is read for the first time."""
        keep = kept_of_image(self._class_name)
        await self._add(_FILES, [name for name in await self._root_names() if keep(name)])
        await content_arrives()
        held: frozenset[str] = frozenset()
        looked_at: frozenset[str] = frozenset()
        rounds, hops = 1, 0
        while True:
            found = await self._read(looked_at, is_last=rounds == _MOST_ROUNDS)
            if isinstance(found, Tree):
                return found
            if found.ways:
                hops += 1
                if hops >= LINK_HOPS:
                    raise ContentError(f"links of the image lead through more than {LINK_HOPS} others")
                looked_at |= found.ways
                await self._add(_LINKS, sorted(found.ways))
            else:
                rounds, hops = rounds + 1, 0
                await self._add(_FILES, sorted(found.ends - held), holds=found.ends)
                held |= found.ends

    async def _read(self, looked_at: frozenset[str], *, is_last: bool) -> Tree | MissingFiles:
        return await self._workers.run(
            read_archives, self._archives, looked_at, self._class_name, self._limits, is_last=is_last
        )

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

    async def _add(self, script: str, paths: Sequence[str], *, holds: frozenset[str] = frozenset()) -> None:
        for batch in _batches(paths):
            file = await asyncio.to_thread(self._files.file)
            async with aclosing(self._output_of(script, *batch)) as pieces:
                await self._write(pieces, file)
            self._archives.append(PodArchive(path=file.path, holds=holds))

    def _output_of(self, script: str, *paths: str) -> AsyncGenerator[bytes, None]:
        end = secrets.token_hex(16)
        return self._run((TOOL, "sh", "-c", script, "sh", end, *paths), end)

    async def _write(self, pieces: AsyncGenerator[bytes, None], file: SpoolFile) -> None:
        pending = bytearray()
        async for piece in pieces:
            self._received += len(piece)
            self._check_size()
            pending += piece
            if len(pending) >= _WRITTEN_AT_ONCE:
                await asyncio.to_thread(file.write, bytes(pending))
                pending.clear()
        await asyncio.to_thread(_finish, file, bytes(pending))

    def _check_size(self) -> None:
        """Refuse more bytes than a limit of what is kept allows, before they arrive."""
        limits = self._limits
        if self._received > limits.image_bytes:
            raise limits.exceeded("image_bytes", "the size of all layers together")
        if self._received > limits.content_bytes + _OTHER_BYTES * (limits.content_files + MOST_OTHERS):
            raise limits.exceeded("content_bytes", "the size of the content of the image")


def _finish(file: SpoolFile, rest: bytes) -> None:
    file.write(rest)
    file.complete()


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

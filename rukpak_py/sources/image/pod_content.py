"""The content of an image, taken out of its unpack pod by `tar`: kept paths only, as one more layer.

What the pod sends goes to files, and a worker process reads all of them once a command has ended. The reader is that of
layers, so limits, links and what is refused are the same as for an image from its registry, and so is the digest. What
links lead to is asked for in further rounds: each reading says what is missing.

Scripts are constants, and paths are their arguments. A script prints a random word when all went well, and waits until
that has been read: what it said counts only then, and only with exit code 0.

Each archive is one more layer. What links lead to is asked for only when every directory on the way is known to be
one: what the node mounts into the container (/proc, for one) is not part of the image, and never read. So a reading
either has everything, or says what of the way has to be looked at, or where it ends.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rukpak_py.content.tree import Tree, clean_path
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import KIB, LINK_HOPS, Limits
from rukpak_py.sources.bundle_files import kept_of_image
from rukpak_py.sources.image.layer_files import chunks_of_file
from rukpak_py.sources.image.layers import MOST_OTHERS, ImageFiles, below
from rukpak_py.sources.image.pod_manifest import MOUNT, TOOL
from rukpak_py.sources.image.received_files import ReceivedFiles
from rukpak_py.sources.source import Workers
from rukpak_py.sources.spool import SpoolFile

_MOST_WAYS: Final = 4096  # files and directories that are asked for because links lead through them
# What the node mounts, or the runtime makes: not of the image.
MOUNTED: Final = ("dev", "proc", "sys", MOUNT, "etc/hosts", "etc/hostname", "etc/resolv.conf")
_is_mounted = below(*MOUNTED)


@dataclass(frozen=True, kw_only=True, slots=True)
class PodArchive:
    """`holds`: the paths from which on links are followed when it is read; they were found in those before it."""

    path: Path
    holds: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class MissingFiles:
    """The targets of links beside what was asked for, and the part of the way there that was not looked at yet."""

    ends: frozenset[str]
    ways: frozenset[str]


def read_archives(
    archives: Sequence[PodArchive], looked_at: AbstractSet[str], class_name: str, limits: Limits, *, is_last: bool
) -> Tree | MissingFiles:
    """`is_last`: nothing more will be asked for, and links that lead elsewhere are refused."""
    image = ImageFiles(keep=kept_of_image(class_name), led_to=below(), limits=limits)
    held: frozenset[str] = frozenset()
    try:
        for archive in archives:
            if archive.holds:
                image.hold(archive.holds)
                held |= archive.holds
            image.add(chunks_of_file(archive.path))
    except OSError as error:
        raise UnavailableError(f"what the pod has sent cannot be read: {error.strerror or error}") from error
    if not is_last:
        ends = image.missed()
        ways = _ways_to(ends, looked_at, limits)
        if ways or not ends <= held:
            return MissingFiles(ends=ends, ways=ways)
    return image.tree()


def _ways_to(ends: frozenset[str], looked_at: AbstractSet[str], limits: Limits) -> frozenset[str]:
    unknown: set[str] = set()
    for end in ends:
        clean_path(end, limits)
        _check_is_of_image(end)
        unknown.update(way for way in _path_and_parents(end) if way not in looked_at)
        if len(unknown) + len(looked_at) > _MOST_WAYS:
            raise ContentError(f"links of the image lead through more than {_MOST_WAYS} files and directories")
    return frozenset(unknown)


def _check_is_of_image(end: str) -> None:
    if _is_mounted(end) or any(path.startswith(f"{end}/") for path in MOUNTED):
        raise ContentError(f"a link points to '/{end}', which is not a file of the image that is read")


def _path_and_parents(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[: count + 1]) for count in range(len(parts)))


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

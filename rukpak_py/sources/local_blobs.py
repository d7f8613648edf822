"""The files that make up an image on disk: of a directory, or of an archive that may be compressed.

An archive that is not compressed is read through once, and its files then where they lie. A compressed one has to be
unpacked from its start for each of them, so what that costs is bounded over all of them together.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from rukpak_py.content.canonical import BLOCK
from rukpak_py.content.inflate import inflate
from rukpak_py.content.tar import Member, MemberKind, TarMembers
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.sources.image.descriptors import streaming
from rukpak_py.sources.image.links import target_of

GZIP_MAGIC = b"\x1f\x8b"
_PIECE = 1024 * 1024
_MOST_HOPS = 8
_MOST_PASSES = 4  # over the largest image that may be


def pieces(path: Path, *, start: int = 0, size: int | None = None) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(start)
        rest = size
        while piece := file.read(_PIECE if rest is None else min(rest, _PIECE)):
            rest = None if rest is None else rest - len(piece)
            yield piece


class DirectoryBlobs:
    """Names were made from digests, but what has such a name may be a link."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve(strict=True)

    def __call__(self, path: str) -> Iterator[bytes]:
        real = (self._root / path).resolve()
        if not real.is_relative_to(self._root):
            raise ContentError(f"{path} is a link that points out of the image")
        if not real.is_file():
            raise ContentError(f"{path} is missing in the image")
        return pieces(real)


class ArchiveBlobs:
    def __init__(self, path: Path, limits: Limits) -> None:
        self._path = path
        self._limits = limits
        self._inflated = 0

    def names(self, wanted: Collection[str], *, until: Collection[str]) -> set[str]:
        """Files at its root, up to what has one of the other names, and no further than content may be."""
        found: set[str] = set()
        try:
            for member in islice(self._members(), self._limits.content_files):
                root, _, below = plain(member.path).partition("/")
                if root in until:
                    break
                if root in wanted and not below:
                    found.add(root)
        except ContentError as error:
            if not found and "checksum" in str(error):
                raise ContentError("is neither a tar archive, gzipped or not, nor an image layout") from error
            raise
        return found

    def __call__(self, path: str) -> Iterator[bytes]:
        return self._compressed(path) if self._is_compressed else self._indexed(path)

    def _indexed(self, path: str) -> Iterator[bytes]:
        for _ in range(_MOST_HOPS):
            found = self._index.get(path)
            if found is None:
                break
            if not found.link:
                return pieces(self._path, start=found.start, size=found.size)
            path = target_of(path, found.link)
        raise _missing(path)

    def _compressed(self, path: str) -> Iterator[bytes]:
        for _ in range(_MOST_HOPS):
            members = self._members()
            found = next((member for member in members if plain(member.path) == path and _is_blob(member)), None)
            if found is None:
                break
            if found.kind is MemberKind.FILE:
                yield from members.parts()
                return
            path = target_of(path, found.link)
        raise _missing(path)

    @cached_property
    def _is_compressed(self) -> bool:
        return next(pieces(self._path), b"").startswith(GZIP_MAGIC)

    @cached_property
    def _index(self) -> "dict[str, _Place]":
        index: dict[str, _Place] = {}
        blocks = _Blocks(path=self._path, limits=self._limits)
        for number, member in enumerate(TarMembers(blocks)):
            if number >= self._limits.content_files:
                raise self._limits.exceeded("content_files", "the number of entries in the archive")
            blocks.ahead = member.size + -member.size % BLOCK
            if _is_blob(member):
                place = _Place(start=blocks.given, size=member.size, link=member.link if _is_link(member) else "")
                index.setdefault(plain(member.path), place)
        return index

    def _members(self) -> TarMembers:
        return TarMembers(self._within_budget(inflate(pieces(self._path), streaming(self._limits))))

    def _within_budget(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self._inflated += len(chunk)
            if self._inflated > _MOST_PASSES * self._limits.image_bytes:
                raise ContentError(
                    "the archive is compressed, and too large to be unpacked again for each of its layers: "
                    "unpack it first with `gunzip`"
                )
            yield chunk


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    start: int
    size: int
    link: str


@dataclass(kw_only=True)
class _Blocks:
    """An archive by blocks while headers are read, so that `given` is where the content behind a header starts."""

    path: Path
    limits: Limits
    given: int = 0
    ahead: int = 0  # of the content and its padding, which may come in larger pieces

    def __iter__(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            while piece := file.read(min(self.ahead, _PIECE) or BLOCK):
                self.ahead -= min(self.ahead, len(piece))
                self.given += len(piece)
                if self.given > self.limits.image_bytes:
                    raise self.limits.exceeded("image_bytes", "the size of the archive")
                yield piece


def plain(path: str) -> str:
    return "/".join(part for part in path.split("/") if part not in {"", "."})


def _is_link(member: Member) -> bool:
    return member.kind is MemberKind.SYMBOLIC_LINK  # old versions of docker write equal layers once


def _is_blob(member: Member) -> bool:
    return member.kind is MemberKind.FILE or _is_link(member)


def _missing(path: str) -> ContentError:
    return ContentError(f"{path} is missing in the archive")

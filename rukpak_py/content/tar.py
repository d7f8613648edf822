"""Archives to Trees and back. Nothing is ever extracted to disk, so nothing can be written through a link.

Read: regular files and directories; a link becomes a copy of the file that it names inside the archive; whatever
leaves the archive, is not a file, or comes twice is refused. Written: the canonical tar, gzipped without time and name
(the gzip bytes may differ between versions of the library; identity is the tar's).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from isal import isal_zlib

from rukpak_py.content import canonical
from rukpak_py.content.canonical import BLOCK, ZERO_BLOCK, Header, write_tar
from rukpak_py.content.inflate import inflate
from rukpak_py.content.tree import Tree, TreeBuilder, clean_path
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, LINK_HOPS, Limits

# Pax records and long names; the same bound as Go's reader.
_EXTENSION_BYTES = 1024 * 1024
_MOST_EXTENSIONS = 16  # before one member: programs write one of each kind
_MOST_RECORDS = 2000  # of one extended header: a file has some dozens of attributes
_LONGEST_NUMBER = 20


class MemberKind(Enum):
    FILE = auto()
    DIRECTORY = auto()
    HARD_LINK = auto()
    SYMBOLIC_LINK = auto()
    DEVICE = auto()  # or a FIFO


_KINDS = {
    b"0": MemberKind.FILE,
    b"\0": MemberKind.FILE,
    b"7": MemberKind.FILE,
    b"1": MemberKind.HARD_LINK,
    b"2": MemberKind.SYMBOLIC_LINK,
    b"3": MemberKind.DEVICE,
    b"4": MemberKind.DEVICE,
    b"5": MemberKind.DIRECTORY,
    b"6": MemberKind.DEVICE,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    path: str  # as written: not normalised, not judged
    kind: MemberKind
    size: int  # 0 for everything but files
    link: str


class TarMembers:
    """Iterate once; `read` while the member is the current one."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._source = _Source(chunks)
        self._unread = 0  # of the current member's content
        self._padding = 0

    def read(self) -> bytes:
        size, self._unread = self._unread, 0
        return self._source.take(size)

    def parts(self) -> Iterator[bytes]:
        """The content of `read` in parts as they arrive; stopping early skips the rest."""
        while self._unread:
            part = self._source.part(self._unread)
            self._unread -= len(part)
            yield part

    def __iter__(self) -> Iterator[Member]:
        extensions: dict[str, bytes] = {}
        count = 0
        while (header := self._next_header()) is not None:
            if header.kind in b"xgLK":
                count += 1
                if count > _MOST_EXTENSIONS:
                    raise ContentError(
                        f"the archive is damaged: more than {_MOST_EXTENSIONS} extended headers precede one member"
                    )
                self._extend(extensions, header)
                continue
            member = _member(header, extensions)
            extensions = {}
            count = 0
            self._unread, self._padding = member.size, len(canonical.padding(member.size))
            yield member
            self._source.skip(self._unread + self._padding)

    def _next_header(self) -> Header | None:
        block = self._source.take(BLOCK)
        if block != ZERO_BLOCK:
            return canonical.parse(block)
        # The second zero block, if there, and then nothing but zeros.
        for chunk in self._source.rest():
            if chunk.strip(b"\0"):
                raise ContentError("the archive is damaged: data follows its end")
        return None

    def _extend(self, extensions: dict[str, bytes], header: Header) -> None:
        if header.size > _EXTENSION_BYTES:
            raise ContentError("the archive is damaged: an extended header is larger than 1 MiB")
        data = self._source.take(header.size)
        self._source.skip(len(canonical.padding(header.size)))
        if header.kind == b"L":
            extensions["path"] = data.rstrip(b"\0")
        elif header.kind == b"K":
            extensions["linkpath"] = data.rstrip(b"\0")
        else:
            records = _pax_records(data)
            if any(key.startswith("GNU.sparse.") for key in records):
                raise ContentError("sparse files in archives are not supported")
            if header.kind == b"x":
                extensions.update(records)
            elif records.keys() & {"path", "linkpath", "size"}:
                raise ContentError("the archive is damaged: a global header names one path for every file")


def _member(header: Header, extensions: dict[str, bytes]) -> Member:
    name = extensions.get("path") or header.name
    kind = _KINDS.get(header.kind)
    if kind is None:
        raise ContentError(f"{_utf8(name)!r} is of a kind that is not supported (type {header.kind!r})")
    if header.kind == b"\0" and name.endswith(b"/"):  # how tars before POSIX wrote directories
        kind = MemberKind.DIRECTORY
    return Member(
        path=_utf8(name),
        kind=kind,
        size=_size(header, extensions) if kind is MemberKind.FILE else 0,
        link=_utf8(extensions.get("linkpath") or header.link),
    )


def _size(header: Header, extensions: dict[str, bytes]) -> int:
    digits = extensions.get("size")
    if not digits:
        return header.size
    if not digits.isdigit() or len(digits) > _LONGEST_NUMBER:
        raise ContentError("the archive is damaged: a pax record has a size that is not a number")
    return int(digits)


def _pax_records(data: bytes) -> dict[str, bytes]:
    """Each is `LENGTH KEY=VALUE` and a newline; the length is that of all of it."""
    records: dict[str, bytes] = {}
    start = count = 0
    while start < len(data):
        count += 1
        if count > _MOST_RECORDS:
            raise ContentError(f"the archive is damaged: an extended header has more than {_MOST_RECORDS} records")
        digits, blank, _ = data[start : start + _LONGEST_NUMBER + 1].partition(b" ")
        end = start + (int(digits) if blank and digits.isdigit() else 0)
        key, equals, value = data[start + len(digits) + 1 : end].partition(b"=")
        if not equals or end > len(data) or not value.endswith(b"\n"):
            raise ContentError("the archive is damaged: a pax record is malformed")
        records[key.decode("utf-8", "replace")] = value[:-1]
        start = end
    return records


def _utf8(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError as error:
        raise ContentError(f"path {name[:200]!r} is not UTF-8") from error


class _Source:
    """Exact amounts from chunks of any size."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._chunk = b""
        self._position = 0

    def take(self, size: int) -> bytes:
        parts = list(self._parts(size))
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def skip(self, size: int) -> None:
        for _ in self._parts(size):
            pass

    def rest(self) -> Iterator[bytes]:
        yield self._chunk[self._position :]
        yield from self._chunks

    def part(self, most: int) -> bytes:
        """The next bytes that are at hand: at least one, at most that many."""
        if self._position == len(self._chunk):
            self._advance()
        part = self._chunk[self._position : self._position + most]
        self._position += len(part)
        return part

    def _parts(self, size: int) -> Iterator[bytes]:
        while size:
            part = self.part(size)
            size -= len(part)
            yield part

    def _advance(self) -> None:
        for chunk in self._chunks:
            if chunk:
                self._chunk, self._position = chunk, 0
                return
        raise ContentError("the archive is cut off: it ends before its end mark")


__all__ = ["read_archive", "write_tar", "write_tgz"]

_LEVEL = 2
_GZIP_WINDOW = 31


def read_archive(chunks: Iterable[bytes], *, limits: Limits = DEFAULT_LIMITS) -> Tree:
    """The Tree of a tar, gzipped or not, in chunks of any size."""
    builder = TreeBuilder(limits)
    links: dict[str, _Link] = {}
    members = TarMembers(inflate(chunks, limits))
    for number, member in enumerate(members):
        if number >= limits.content_files:
            raise limits.exceeded("content_files", "the number of entries in the archive")
        path = clean_path(member.path, limits)
        match member.kind:
            case MemberKind.DIRECTORY:
                builder.add_directory(path)
            case MemberKind.FILE:
                builder.check_room(path, member.size)
                builder.add(path, members.read())
            case MemberKind.DEVICE:
                raise ContentError(f"{path!r} is a device or a FIFO")
            case MemberKind.HARD_LINK | MemberKind.SYMBOLIC_LINK:
                if path in links:
                    raise ContentError(f"link {path!r} is there twice")
                links[path] = _link(path, member, limits)
    for path, link in links.items():
        builder.add(path, _content(link, links, builder))
    return builder.build()


def write_tgz(tree: Tree) -> Iterator[bytes]:
    gzip: Any = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, _GZIP_WINDOW)
    for piece in write_tar(tree):
        if data := gzip.compress(piece):
            yield data
    yield gzip.flush()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Link:
    path: str
    target: str  # normalised, from the root of the archive


def _link(path: str, member: Member, limits: Limits) -> _Link:
    if not member.link or member.link.startswith("/"):
        raise ContentError(f"link {path!r} points out of the archive: {member.link[:200]!r}")
    if member.kind is MemberKind.HARD_LINK:
        return _Link(path=path, target=clean_path(member.link, limits))
    parts = path.split("/")[:-1]
    for part in member.link.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in {"", ".", ".."}:
            parts.append(part)
        elif part == "..":
            raise ContentError(f"link {path!r} points out of the archive: {member.link[:200]!r}")
    return _Link(path=path, target=clean_path("/".join(parts), limits))


def _content(link: _Link, links: dict[str, _Link], builder: TreeBuilder) -> bytes:
    end = link
    for _ in range(LINK_HOPS):
        if end.target not in links:
            content = builder.get(end.target)
            if content is None:
                raise ContentError(f"link {link.path!r} points to {end.target!r}, which is not a file of the archive")
            return content
        end = links[end.target]
    raise ContentError(f"link {link.path!r} never ends at a file")

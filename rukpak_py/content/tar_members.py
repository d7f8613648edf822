"""The members of a tar as they stream by: names, kinds and sizes resolved from ustar, pax and GNU headers.

One member at a time; `read` gives the content of the current one, what is not read is skipped. Nothing is judged here
but the archive itself: damaged, cut off, sparse or followed by other data is a ContentError. Which paths, kinds and
sizes are welcome is the caller's decision, taken before it reads. The work for each byte is bounded: extended headers
are read in one pass, and only so many of them, with so many records, may precede a member.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto

from rukpak_py.content import canonical
from rukpak_py.content.canonical import BLOCK, ZERO_BLOCK, Header
from rukpak_py.core.errors import ContentError

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

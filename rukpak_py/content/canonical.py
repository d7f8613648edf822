"""The canonical tar of a Tree: the same content gives the same bytes on every machine and in every release.

In the order of a walk, the root `.` first, every directory as an entry; no times, no owners, modes 0644 and 0755, pax
records only for paths that ustar cannot say. This is the layout of the original's archives without what varies.

A header is written as canonical ustar, and read as ustar, GNU and old tars write it. Reading trusts nothing: the
checksum must fit, numbers must be numbers, and every failure is a ContentError.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol

from rukpak_py.core.errors import ContentError

BLOCK = 512
ZERO_BLOCK = bytes(BLOCK)
END_MARK = bytes(2 * BLOCK)

_USTAR = b"ustar\x0000"
_USTAR_MAGIC = b"ustar\0"
_CHECKSUM = slice(148, 156)
_BLANK_CHECKSUM = b" " * 8
_NAME_BYTES = 100
_PREFIX_BYTES = 155
_HIGH_BYTES = bytes(range(0x80, 0x100))
_FILE_MODE = 0o644
_DIRECTORY_MODE = 0o755


@dataclass(frozen=True, kw_only=True, slots=True)
class Header:
    name: bytes
    size: int
    kind: bytes  # the type flag: one byte
    link: bytes


def parse(block: bytes) -> Header:
    if not _has_checksum(block, _number(block[_CHECKSUM], "checksum")):
        raise ContentError("the archive is damaged: a header has a wrong checksum")
    name = _text(block[:_NAME_BYTES])
    if block[257:263] == _USTAR_MAGIC and (prefix := _text(block[345:500])):
        name = prefix + b"/" + name
    return Header(name=name, size=_number(block[124:136], "size"), kind=block[156:157], link=_text(block[157:257]))


def file_header(path: bytes, size: int) -> bytes:
    return _entry(path, size, b"0", _FILE_MODE)


def directory_header(path: bytes) -> bytes:
    return _entry(path, 0, b"5", _DIRECTORY_MODE)


def padding(size: int) -> bytes:
    return bytes(-size % BLOCK)


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _number(field: bytes, what: str) -> int:
    """Octal text, or base 256 where the first bit is set."""
    if field[0] & 0x80:
        if field[0] != 0x80:  # negative, or more than 88 bits
            raise ContentError(f"the archive is damaged: a header has a {what} out of range")
        return int.from_bytes(field[1:], "big")
    digits = _text(field).strip(b" ")
    if digits.strip(b"01234567"):
        raise ContentError(f"the archive is damaged: a header has a {what} that is not a number")
    return int(digits or b"0", 8)


def _has_checksum(block: bytes, given: int) -> bool:
    """The sum of the bytes with the checksum itself as blanks; some old tars summed signed bytes.

    An archive may have millions of headers: nothing here may be a loop over bytes.
    """
    summed = block[: _CHECKSUM.start] + _BLANK_CHECKSUM + block[_CHECKSUM.stop :]
    unsigned = sum(summed)
    if given == unsigned:
        return True
    high = len(summed) - len(summed.translate(None, _HIGH_BYTES))
    return given == unsigned - 256 * high


def _entry(path: bytes, size: int, kind: bytes, mode: int) -> bytes:
    """A pax record in front only where ustar cannot say the path."""
    fields = _split(path) if path.isascii() else None
    if fields is not None:
        return _block(*fields, size, kind, mode)
    record = _pax_record(b"path", path)
    pax = _block(b"", b"././@PaxHeader", len(record), b"x", _FILE_MODE) + record + padding(len(record))
    return pax + _block(b"", path[:_NAME_BYTES], size, kind, mode)


def _split(path: bytes) -> tuple[bytes, bytes] | None:
    """Prefix and name, or None when the path does not fit."""
    if len(path) <= _NAME_BYTES:
        return b"", path
    slash = path.rfind(b"/", 0, _PREFIX_BYTES + 1)
    prefix, name = path[:slash], path[slash + 1 :]
    return (prefix, name) if slash > 0 and 0 < len(name) <= _NAME_BYTES else None


def _pax_record(key: bytes, value: bytes) -> bytes:
    """Length, blank, key=value, newline; the length counts its own digits too."""
    body = b" " + key + b"=" + value + b"\n"
    length = len(body)
    while length != len(body) + len(str(length)):
        length = len(body) + len(str(length))
    return str(length).encode() + body


def _block(prefix: bytes, name: bytes, size: int, kind: bytes, mode: int) -> bytes:
    zero = b"%07o\0" % 0
    block = b"".join(
        [
            name.ljust(_NAME_BYTES, b"\0"),
            b"%07o\0" % mode,
            zero,  # uid
            zero,  # gid
            b"%011o\0" % size,
            b"%011o\0" % 0,  # time of change
            b" " * 8,  # checksum
            kind,
            bytes(_NAME_BYTES),  # link
            _USTAR,
            bytes(64),  # names of user and group
            zero,  # device
            zero,
            prefix.ljust(_PREFIX_BYTES, b"\0"),
            bytes(12),
        ]
    )
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


class Content(Protocol):
    """The part of a Tree that the writer reads; a protocol, because the Tree needs the writer for its digest."""

    @property
    def directories(self) -> AbstractSet[str]: ...

    def __iter__(self) -> Iterator[str]: ...

    def __getitem__(self, path: str, /) -> bytes: ...


def walk_order(path: str) -> list[str]:
    """Sorts a directory's entries by name, and what is below an entry right behind it."""
    return path.split("/")


def write_tar(content: Content) -> Iterator[bytes]:
    directories = content.directories
    yield directory_header(b".")
    for path in sorted([*content, *directories], key=walk_order):
        if path in directories:
            yield directory_header(path.encode())
            continue
        data = content[path]
        yield file_header(path.encode(), len(data))
        yield data
        yield padding(len(data))
    yield END_MARK

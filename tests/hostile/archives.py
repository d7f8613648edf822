"""Archives that are cheap to send and were, or might be, costly to read. Each is small; none is a valid bundle."""

import gzip
import io
import os
import tarfile
import zlib
from collections.abc import Callable, Mapping
from enum import StrEnum

MIB = 1024 * 1024
_BLOCK = 512


class HostileArchive(StrEnum):
    PAX_RECORDS = "pax-records"
    """Extended headers of 1 MiB, each with 100,000 records and more, behind a member that does not compress."""
    EXTENSION_HEADERS = "extension-headers"
    """Hundreds of thousands of extended headers, and no member."""
    GZIP_MEMBERS = "gzip-members"
    """Millions of gzip members with nothing in them."""
    DIRECTORIES = "directories"
    """As many directories as an archive may have, each as deep as it may be."""
    LINKS = "links"
    """Chains of links, each as long as it may be."""
    BOMB = "bomb"
    """Zeros that inflate to a thousand times their size."""


def hostile_archive(kind: HostileArchive) -> bytes:
    return _MAKERS[kind]()


def _header(kind: bytes, name: bytes, size: int = 0, link: bytes = b"") -> bytes:
    block = bytearray(_BLOCK)
    block[: len(name)] = name
    block[100:108] = b"0000644\0"
    block[108:124] = b"0000000\0" * 2
    block[124:136] = b"%011o\0" % size
    block[136:148] = b"00000000000\0"
    block[148:156] = b" " * 8
    block[156:157] = kind
    block[157 : 157 + len(link)] = link
    block[257:265] = b"ustar\00000"
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _BLOCK)


def _pax_records() -> bytes:
    record = b"6 a=b\n"
    records = record * (MIB // len(record) - 1)
    extended = _padded(_header(b"x", b"pax", len(records)) + records)
    noise = os.urandom(3 * MIB // 2)  # keeps the ratio of inflation low
    member = _padded(_header(b"0", b"noise", len(noise)) + noise)
    return gzip.compress(member + extended * 280, compresslevel=9)


def _extension_headers() -> bytes:
    records = b"6 a=b\n"
    extended = _header(b"x", b"pax", len(records)) + _padded(records)
    return gzip.compress(_padded(_header(b"0", b"noise", MIB) + os.urandom(MIB)) + extended * 200_000, compresslevel=6)


def _gzip_members() -> bytes:
    return gzip.compress(_header(b"5", b"d/")) + gzip.compress(b"") * 1_500_000


def _directories() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for number in range(19_000):
            made = tarfile.TarInfo(f"{number % 100}/" * 31 + str(number))
            made.type = tarfile.DIRTYPE
            tar.addfile(made)
    return file.getvalue()


def _links() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for number in range(19_000):
            made = tarfile.TarInfo(f"l{number}")
            made.type = tarfile.SYMTYPE
            made.linkname = "/".join(["x", ".."] * 400) + f"/l{number + 1}"
            tar.addfile(made)
    return file.getvalue()


def _bomb() -> bytes:
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([*(squeeze.compress(bytes(MIB)) for _ in range(512)), squeeze.flush()])


_MAKERS: Mapping[HostileArchive, Callable[[], bytes]] = {
    HostileArchive.PAX_RECORDS: _pax_records,
    HostileArchive.EXTENSION_HEADERS: _extension_headers,
    HostileArchive.GZIP_MEMBERS: _gzip_members,
    HostileArchive.DIRECTORIES: _directories,
    HostileArchive.LINKS: _links,
    HostileArchive.BOMB: _bomb,
}

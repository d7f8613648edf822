"""Archives as they arrive, to tar bytes: gzip is inflated, anything else is taken as it is.

Every limit is checked while bytes flow: what was taken, what was given, and their ratio. Nothing is held but one
piece. Several gzip members in a row are one stream; behind the last one only zeros may follow.
"""

from collections.abc import Iterable, Iterator
from typing import Any, cast

from isal import isal_zlib

from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import MIB, Limits

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31
_GZIP_ERROR = cast("type[Exception]", isal_zlib.error)  # the stubs call it an instance
_PIECE = 64 * 1024
# What headers, padding and pax records of one member may add to its content.
_OVERHEAD = 4 * 512


def inflate(chunks: Iterable[bytes], limits: Limits) -> Iterator[bytes]:
    pieces = _pieces(chunks, limits)
    head = b""
    while len(head) < len(_GZIP_MAGIC) and (piece := next(pieces, b"")):
        head += piece
    if head.startswith(_GZIP_MAGIC):
        yield from _gunzip(head, pieces, limits)
    else:
        yield head
        yield from pieces


def _pieces(chunks: Iterable[bytes], limits: Limits) -> Iterator[bytes]:
    """Small pieces, so that the ratio is looked at often however the bytes arrive."""
    taken = 0
    for chunk in chunks:
        taken += len(chunk)
        if taken > limits.archive_bytes:
            raise limits.exceeded("archive_bytes", "the size of the archive")
        for start in range(0, len(chunk), _PIECE):
            yield chunk[start : start + _PIECE]


def _gunzip(head: bytes, pieces: Iterator[bytes], limits: Limits) -> Iterator[bytes]:
    ceiling = limits.content_bytes + _OVERHEAD * limits.content_files + MIB
    member: Any = None
    taken = given = 0
    for piece in _with_head(head, pieces):
        taken += len(piece)
        rest = piece
        full = False
        while rest or full:
            if member is None:
                rest = rest.lstrip(b"\0") if given else rest
                if not rest:
                    break
                if not rest.startswith(_GZIP_MAGIC[:1]):
                    raise ContentError("the archive is damaged: data follows its end")
                member = isal_zlib.decompressobj(_GZIP_WINDOW)
            data = _decompress(member, rest)
            given += len(data)
            if given > ceiling:
                raise limits.exceeded("content_bytes", "the size of the unpacked archive")
            if given > limits.inflation_floor and given > limits.inflation_ratio * taken:
                raise limits.exceeded("inflation_ratio", "the ratio of unpacked to compressed size")
            yield data
            full = len(data) == _PIECE
            rest = member.unconsumed_tail
            if member.eof:
                rest, member, full = member.unused_data, None, False
    if member is not None:
        raise ContentError("the archive is cut off: its compressed data has no end")


def _with_head(head: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from pieces


def _decompress(member: Any, data: bytes) -> bytes:
    try:
        inflated: bytes = member.decompress(data, _PIECE)
    except _GZIP_ERROR as error:
        raise ContentError("the archive is damaged: it is no valid gzip") from error
    return inflated

"""Archives as they arrive, to tar bytes: gzip is inflated, zstd where it is expected, anything else is taken as it is.

Every limit is checked while bytes flow: what was taken, what was given, and their ratio. Nothing is held but one
piece, and the window of zstd, which is bounded. Several gzip members or zstd frames in a row are one stream; behind the
last one only zeros may follow.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from isal import isal_zlib

from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import MIB, Limits

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_GZIP_WINDOW: Final = 31
_ZSTD_WINDOW: Final = 25  # 32 MiB, the largest that builders of images use; a hostile frame may demand gigabytes
_PIECE: Final = 64 * 1024
_HEAD: Final = 4  # bytes that tell how it is compressed
# What headers, padding and pax records of one member may add to its content.
_OVERHEAD: Final = 4 * 512


class CutOffError(ContentError):
    """Compressed data without an end: the archive is damaged, or not all of it has arrived."""


@dataclass(frozen=True, kw_only=True)
class _Codec:
    name: str
    magic: bytes
    is_start: Callable[[bytes], bool]  # of another member, from its first byte on
    new: Callable[[], Any]
    error: type[Exception]


class _ZstdFrame:
    """With the interface of zlib's decompressors: here the input that is left is held inside."""

    unconsumed_tail = b""

    def __init__(self) -> None:
        self._frame = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW})

    def decompress(self, data: bytes, most: int) -> bytes:
        return self._frame.decompress(data, max_length=most)

    @property
    def eof(self) -> bool:
        return self._frame.eof

    @property
    def unused_data(self) -> bytes:
        return self._frame.unused_data


_GZIP = _Codec(
    name="gzip",
    magic=b"\x1f\x8b",
    is_start=lambda data: data.startswith(b"\x1f"),
    new=lambda: isal_zlib.decompressobj(_GZIP_WINDOW),
    error=cast("type[Exception]", isal_zlib.error),  # the stubs call it an instance
)
_ZSTD = _Codec(
    name=f"zstd, or wants a window of more than {1 << _ZSTD_WINDOW >> 20} MiB",
    magic=b"\x28\xb5\x2f\xfd",
    is_start=lambda data: data[0] == 0x28 or 0x50 <= data[0] <= 0x5F,  # a frame, or one that is skipped
    new=_ZstdFrame,
    error=zstd.ZstdError,
)


def inflate(chunks: Iterable[bytes], limits: Limits, *, with_zstd: bool = False) -> Iterator[bytes]:
    pieces = _pieces(chunks, limits)
    head = b""
    while len(head) < _HEAD and (piece := next(pieces, b"")):
        head += piece
    codecs = (_GZIP, _ZSTD) if with_zstd else (_GZIP,)
    codec = next((one for one in codecs if head.startswith(one.magic)), None)
    if codec is not None:
        yield from _decompressed(codec, head, pieces, limits)
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


def _decompressed(codec: _Codec, head: bytes, pieces: Iterator[bytes], limits: Limits) -> Iterator[bytes]:
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
                if not codec.is_start(rest):
                    raise ContentError("the archive is damaged: data follows its end")
                member = codec.new()
            data = _decompress(codec, member, rest)
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
        raise CutOffError("the archive is cut off: its compressed data has no end")


def _with_head(head: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from pieces


def _decompress(codec: _Codec, member: Any, data: bytes) -> bytes:
    try:
        inflated: bytes = member.decompress(data, _PIECE)
    except codec.error as error:
        raise ContentError(f"the archive is damaged: it is not valid {codec.name}") from error
    return inflated

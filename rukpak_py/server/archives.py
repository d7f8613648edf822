"""An archive as an answer: whole or in part, in pieces that are read from disk while the client takes them.

However large the archive is, a client that reads slowly holds one piece in memory, and one that reads nothing is cut
off after a while. One range of a `Range` header is sent. A header that the server does not understand is ignored, as
RFC 9110 allows, and the whole archive is sent.
"""

import asyncio
import os
import re
from dataclasses import dataclass
from io import BufferedReader
from typing import NamedTuple

from aiohttp import web

from rukpak_py.core.metrics import CONTENT_BYTES

_PIECE = 256 * 1024
_ONE_RANGE = re.compile(r"bytes\s*+=\s*+(\d{0,18})\s*+-\s*+(\d{0,18})", re.IGNORECASE)


class Part(NamedTuple):
    start: int
    length: int


class UnsatisfiableError(ValueError):
    """The range begins behind the end."""


def wanted_part(header: str | None, size: int) -> Part | None:
    """None: the whole."""
    match = _ONE_RANGE.fullmatch((header or "").strip())
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        length = min(int(last), size)
        if not length:
            raise UnsatisfiableError
        return Part(start=size - length, length=length)
    start, end = int(first), int(last) if last else size - 1
    if last and end < start:
        return None
    if start >= size:
        raise UnsatisfiableError
    return Part(start=start, length=min(end, size - 1) - start + 1)


@dataclass(frozen=True, kw_only=True)
class Archive:
    """`tag` identifies the content: it is the entity tag, without quotes."""

    file: BufferedReader
    tag: str

    @property
    def size(self) -> int:
        return os.fstat(self.file.fileno()).st_size


async def send(request: web.Request, archive: Archive, *, silence: float) -> web.StreamResponse:
    """The answer to GET and HEAD, sent but for its end. The archive's file is closed."""
    with archive.file:
        tag, size = f'"{archive.tag}"', archive.size
        headers = {"ETag": tag, "Accept-Ranges": "bytes", "Cache-Control": "private, no-cache"}
        if any(known.value in {archive.tag, "*"} for known in request.if_none_match or ()):
            return web.Response(status=304, headers=headers)
        try:
            is_current = request.headers.get("If-Range") in {None, tag}  # a range of another version is of no use
            part = wanted_part(request.headers.get("Range") if is_current else None, size)
        except UnsatisfiableError:
            headers |= {"Content-Range": f"bytes */{size}"}
            return web.Response(status=416, headers=headers, text="the range begins after the end of the archive\n")
        if part is not None:
            headers = headers | {"Content-Range": f"bytes {part.start}-{part.start + part.length - 1}/{size}"}
        response = web.StreamResponse(status=200 if part is None else 206, headers=headers)
        response.content_type = "application/gzip"
        response.content_length = size if part is None else part.length
        await response.prepare(request)
        if request.method != "HEAD":
            await _stream(request, response, archive.file, part or Part(start=0, length=size), silence)
        return response


async def _stream(
    request: web.Request, response: web.StreamResponse, file: BufferedReader, part: Part, silence: float
) -> None:
    position, end = part.start, part.start + part.length
    while position < end:
        try:
            piece = await asyncio.to_thread(_read, file, min(_PIECE, end - position), position)
            async with asyncio.timeout(silence):
                await response.write(piece)
        except OSError:  # TimeoutError is one
            if request.transport is not None:
                request.transport.abort()  # what is missing must not look like an end
            return
        CONTENT_BYTES.labels("sent").inc(len(piece))
        position += len(piece)


def _read(file: BufferedReader, size: int, position: int) -> bytes:
    piece = os.pread(file.fileno(), size, position)
    if not piece:
        raise ConnectionResetError("the archive became shorter while it was sent")
    return piece

"""A compressed archive as it arrives: on disk, hashed, within its limit. A small one stays in memory.

Nothing of it is read before it is complete and its checksum is known. It holds no more than two chunks in memory, so
that any number of servers may take their time. Where nothing says how long it is, the end of a connection may be the
end of the archive or a failure on the way: what is cut off is asked for again then.
"""

import asyncio
import hashlib
import tempfile
from collections.abc import Iterator
from functools import partial
from types import TracebackType
from typing import IO, Self, cast

from rukpak_py.content.inflate import CutOffError
from rukpak_py.content.tar import read_archive
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import Limits

_IN_MEMORY = 64 * 1024
_WRITTEN_AT_ONCE = 128 * 1024
_READ_AT_ONCE = 256 * 1024
_GZIP = b"\x1f\x8b\x08"


class ArchiveFile:
    """In a `with` block; the file is closed after it, and gone unless it was handed in."""

    def __init__(self, limits: Limits, file: IO[bytes] | None = None) -> None:
        """`file`: where the archive goes to, or is already."""
        self._limits = limits
        self._file = file if file is not None else _spooled()
        self._hash = hashlib.sha256()
        self._size = 0
        self._pending = bytearray()
        self.has_known_end = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def sha256(self) -> str:
        """Of what was added, once it is complete."""
        return self._hash.hexdigest()

    @property
    def size(self) -> int:
        """Of what was added."""
        return self._size

    def expect(self, size: int) -> None:
        """Refuse an archive of that size before it arrives."""
        if size > self._limits.archive_bytes:
            raise self._limits.exceeded("archive_bytes", "the size of the archive")

    async def add(self, chunk: bytes) -> None:
        self._size += len(chunk)
        self.expect(self._size)
        self._pending += chunk
        if len(self._pending) >= _WRITTEN_AT_ONCE:
            await self._flush()

    async def complete(self) -> None:
        await self._flush()

    def compare(self, expected: str) -> None:
        """With the checksum of the source, if it has one."""
        if expected and self.sha256 != expected:
            raise self._wrong(f"the archive has the SHA-256 {self.sha256}, but sha256 of the source is {expected}")

    async def tree(self, *, not_gzip: str = "", not_tar: str = "error creating FS: ") -> Tree:
        """What it holds; ContentError, with these prefixes, when it is not a gzipped tar within all limits."""
        return await asyncio.to_thread(self._read, not_gzip, not_tar)

    async def _flush(self) -> None:
        pending, self._pending = bytes(self._pending), bytearray()
        await asyncio.to_thread(self._write, pending)

    def _write(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        try:
            self._file.write(chunk)
        except OSError as error:
            raise UnavailableError(f"the archive cannot be kept in a temporary file: {error.strerror}") from error

    def _read(self, not_gzip: str, not_tar: str) -> Tree:
        self._file.seek(0)
        head = self._file.read(len(_GZIP))
        if head != _GZIP:
            text = f"{not_gzip}gzip: invalid header"
            raise self._wrong(text) if _GZIP.startswith(head) else ContentError(text)
        self._file.seek(0)
        try:
            return read_archive(self._chunks(), limits=self._limits)
        except CutOffError as error:
            raise self._wrong(f"{not_tar}{error}") from error
        except ContentError as error:
            raise ContentError(f"{not_tar}{error}") from error

    def _wrong(self, text: str) -> RukPakError:
        """With what has arrived; only a known end proves that there is nothing more."""
        if self.has_known_end:
            return ContentError(text)
        return UnavailableError(f"{text}; the server does not say how long the archive is, so it may have broken off")

    def _chunks(self) -> Iterator[bytes]:
        return iter(partial(self._file.read, _READ_AT_ONCE), b"")


def _spooled() -> IO[bytes]:
    return cast("IO[bytes]", tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY))

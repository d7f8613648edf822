"""A compressed archive as it arrives: on disk, hashed, within its limit. A small one stays in memory.

Nothing of it is read before it is complete and its checksum is known, and then a worker process reads it. It holds no
more than two chunks in memory, so that any number of servers may take their time. Where nothing says how long it is,
the end of a connection may be the end of the archive or a failure on the way: what is cut off is asked for again then.
"""

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Protocol, Self

from rukpak_py.content.tree import Tree
from rukpak_py.core.limits import Limits
from rukpak_py.sources.gzipped_tar import damaged, read_gzipped_tar
from rukpak_py.sources.source import Workers

IN_MEMORY = 64 * 1024
_WRITTEN_AT_ONCE = 128 * 1024


class ArchiveStore(Protocol):
    """The place that an archive is written to: a `SpoolFile`, for one. Blocking."""

    @property
    def path(self) -> Path: ...

    def write(self, data: bytes, /) -> None: ...

    def complete(self) -> None: ...

    def close(self) -> None: ...


class ArchiveFile:
    """An archive that is written, in a `with` block; its file is closed after it."""

    def __init__(self, limits: Limits, open_file: Callable[[], ArchiveStore], *, in_memory: int = IN_MEMORY) -> None:
        """`open_file` is called once there are more than `in_memory` bytes."""
        self._limits = limits
        self._open_file = open_file
        self._in_memory = in_memory
        self._file: ArchiveStore | None = None
        self._opening = Lock()
        self._is_closed = False
        self._hash = hashlib.sha256()
        self._pending = bytearray()
        self.size = 0  # of what was added
        self.has_known_end = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._opening:  # a thread of a cancelled download may be about to open it
            self._is_closed = True
        if self._file is not None:
            self._file.close()

    @property
    def sha256(self) -> str:
        """The digest of the bytes that were added, once they are complete."""
        return self._hash.hexdigest()

    def expect(self, size: int) -> None:
        """Refuse an archive of that size before it arrives."""
        if size > self._limits.archive_bytes:
            raise self._limits.exceeded("archive_bytes", "the size of the archive")

    async def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self.expect(self.size)
        self._pending += chunk
        if len(self._pending) >= _WRITTEN_AT_ONCE:
            await asyncio.to_thread(self._write)

    async def complete(self) -> None:
        if self._file is None and self.size <= self._in_memory:
            self._hash.update(self._pending)
        else:
            await asyncio.to_thread(self._finish)

    def compare(self, expected: str) -> None:
        """Compare it with the checksum of the source, if that has one."""
        if expected and self.sha256 != expected:
            text = f"the archive has the SHA-256 {self.sha256}, but sha256 of the source is {expected}"
            raise damaged(text, has_known_end=self.has_known_end)

    async def tree(self, workers: Workers, *, not_gzip: str = "", not_tar: str = "error creating FS: ") -> Tree:
        """Read the archive. Raises ContentError, with these prefixes, unless it is a gzipped tar within all limits."""
        content = bytes(self._pending) if self._file is None else self._file.path
        return await workers.run(
            read_gzipped_tar,
            content,
            self._limits,
            not_gzip=not_gzip,
            not_tar=not_tar,
            has_known_end=self.has_known_end,
        )

    def _write(self) -> None:
        pending, self._pending = bytes(self._pending), bytearray()
        self._hash.update(pending)
        with self._opening:
            if self._is_closed:
                return
            if self._file is None:
                self._file = self._open_file()
        self._file.write(pending)

    def _finish(self) -> None:
        self._write()
        if self._file is not None:
            self._file.complete()

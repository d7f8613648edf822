"""Files of an image that one fetch has received: temporary, and counted as one share of the spool.

Threads write while they download, and may still do so after the fetch was cancelled: after `close` there are no files,
and there will be none. Blocking: call it from threads.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from threading import Lock
from types import TracebackType
from typing import Final, Self, TypeVar

from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.limits import KIB
from rukpak_py.sources.spool import Spool, SpoolFile

T = TypeVar("T")
_IN_MEMORY: Final = 64 * KIB
_DECODING = Lock()  # of all pulls of the process: what is decoded is some times as large as it was


@asynccontextmanager
async def receiving(spool: Spool) -> AsyncIterator["ReceivedFiles"]:
    """Files for the event loop. A thread removes them, also when the fetch is cancelled: gigabytes take a while."""
    files = ReceivedFiles(spool)
    try:
        yield files
    finally:
        await asyncio.shield(asyncio.to_thread(files.close))


class ReceivedFiles:
    """The files of one fetch, in a `with` block, in a thread."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._share = spool.share()
        self._lock = Lock()
        self._files: list[SpoolFile] = []
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def file(self) -> SpoolFile:
        """An empty one; UnavailableError after `close`."""
        with self._lock:
            if self._is_closed:
                raise UnavailableError("it was ended")
            file = self._spool.file(self._share)
            self._files.append(file)
            return file

    def document(self, chunks: Iterable[bytes], longest: int, read: Callable[[bytes], T]) -> T | None:
        """Collect the chunks and return what `read` makes of them; None when they are longer.

        A large one is on disk until it is complete, and in memory is one at a time: a slow server holds neither.
        """
        head = bytearray()
        size = 0
        file: SpoolFile | None = None
        for chunk in chunks:
            size += len(chunk)
            if size > longest:
                return None
            head += chunk
            if len(head) > _IN_MEMORY:
                file = file or self.file()
                file.write(bytes(head))
                head.clear()
        if file is None:
            return read(bytes(head))
        file.write(bytes(head))
        file.complete()
        with _DECODING:
            return read(file.path.read_bytes())

    def settle(self) -> None:
        """No more will be received."""
        self._share.settle()

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            files, self._files = self._files, []
        self._share.release()
        for file in files:
            file.close()

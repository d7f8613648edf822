"""Texts on disk until they are printed: each worker process writes a file of its own, this one reads them back."""

import os
import tempfile
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import msgspec


class Stored(msgspec.Struct, frozen=True, array_like=True):
    """Where a text is."""

    file: str
    start: int
    size: int


class Spool:
    """A directory for the time of the context. Forked processes may `append`; only the first one reads."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="rukpakctl-")
        self._writers: dict[int, BinaryIO] = {}
        self._readers: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._writers.values():
            file.close()
        for descriptor in self._readers.values():
            os.close(descriptor)
        self._folder.cleanup()

    def append(self, data: bytes) -> Stored:
        """Keep a text; `flush` before another process may read it."""
        process = os.getpid()
        if process not in self._writers:
            self._writers[process] = Path(self._folder.name, str(process)).open("ab")  # noqa: SIM115 - closed at the end
        file = self._writers[process]
        start = file.tell()
        file.write(data)
        return Stored(file=str(process), start=start, size=len(data))

    def flush(self) -> None:
        """Make what this process has appended readable."""
        if file := self._writers.get(os.getpid()):
            file.flush()

    def read(self, stored: Stored) -> bytes:
        if stored.file not in self._readers:
            self._readers[stored.file] = os.open(Path(self._folder.name, stored.file), os.O_RDONLY)
        return os.pread(self._readers[stored.file], stored.size, stored.start)

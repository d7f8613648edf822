"""Streams that are, or are not, a terminal."""

import io
from typing import IO


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def pipe() -> IO[str]:
    return io.StringIO()


def terminal() -> IO[str]:
    return _Terminal()

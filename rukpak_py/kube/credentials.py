"""Where the bearer token comes from. A token lives in memory only, is never logged, and is asked for on every request.

Service-account tokens are rotated by rewriting their file, so a file is read again when it changes. After a 401 the
transport calls `forget`, which makes the next `token` come from the source.
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from rukpak_py.core.errors import AccessError

FILE_CHECK_SECONDS = 1.0


class TokenSource(Protocol):
    async def token(self) -> str: ...

    def forget(self) -> None: ...


class FixedToken:
    def __init__(self, token: str) -> None:
        self._token = token

    async def token(self) -> str:
        return self._token

    def forget(self) -> None:
        """There is no other token to fall back on."""


class FileToken:
    """Follows a file. While it cannot be read, the token read last is used."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._token = ""
        self._mark: tuple[int, int, int] | None = None
        self._checked = float("-inf")

    async def token(self) -> str:
        now = self._clock()
        if now - self._checked >= FILE_CHECK_SECONDS or not self._token:
            self._checked = now
            self._read()
        return self._token

    def forget(self) -> None:
        self._checked = float("-inf")
        self._mark = None

    def _read(self) -> None:
        try:
            stat = self._path.stat()
            mark = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
            if mark == self._mark and self._token:
                return
            self._token, self._mark = self._path.read_text().strip(), mark
        except (OSError, UnicodeDecodeError) as error:
            if not self._token:
                raise AccessError(
                    f"cannot read the API server token file {self._path}: {type(error).__name__}"
                ) from None


class CommandToken:
    """The token of an exec or OIDC plugin. `ask` runs the plugin and blocks, so it gets a thread, one at a time."""

    def __init__(self, ask: Callable[[], str], *, keep_seconds: float = 60.0) -> None:
        self._ask = ask
        self._keep = keep_seconds
        self._token = ""
        self._asked = float("-inf")
        self._lock = asyncio.Lock()

    async def token(self) -> str:
        async with self._lock:
            if time.monotonic() - self._asked >= self._keep:
                self._token = await asyncio.to_thread(self._ask)
                self._asked = time.monotonic()
        return self._token

    def forget(self) -> None:
        self._asked = float("-inf")

"""A directory of results by key, for the user alone: `${XDG_CACHE_HOME:-~/.cache}/rukpak-py/catalogs`.

An entry appears under its name when it is complete, and begins with its own digest, so that one that is damaged is no
entry. What has not been used for long goes when there is too much. A cache that cannot be written is none.
"""

import hashlib
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

import rukpak_py

_MOST_BYTES: Final = 256 * 1024 * 1024
_LARGEST: Final = 64 * 1024 * 1024
_LARGE: Final = 64 * 1024
_DIGEST_BYTES: Final = 32
_READERS: Final = ("catalog", "content", "core", "formats", "cli/catalogs")


def cache_key(way: Sequence[Any], file: str, data: bytes) -> str:
    """The name of an entry: the program, how it read the file, its path (positions name it), and its content."""
    read = msgspec.json.encode([_program(), *way, file])
    return hashlib.sha256(hashlib.sha256(read).digest() + hashlib.sha256(data).digest()).hexdigest()


@cache
def _program() -> str:
    """A digest of the program's files as they lie on disk: any of them may change what is read, or how it is told."""
    found = hashlib.sha256(rukpak_py.__version__.encode())
    root = Path(rukpak_py.__file__).parent
    for folder in _READERS:
        for path in sorted((root / folder).rglob("*.py")):
            status = path.stat()
            found.update(f"{path.relative_to(root)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return found.hexdigest()


class Cache:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @classmethod
    def of_user(cls) -> "Cache | None":
        """The cache of this user; None where there is no home for it, or where others could write into it."""
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - raises nothing
        directory = Path(home, "rukpak-py", "catalogs")
        if not directory.is_absolute():
            return None
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = directory.stat()
        except OSError:
            return None
        is_private = status.st_uid == os.geteuid() and not status.st_mode & 0o022
        return cls(directory) if is_private else None

    def get(self, key: str) -> bytes | None:
        path = self._directory / key
        try:
            data = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        content = data[_DIGEST_BYTES:]
        return content if data[:_DIGEST_BYTES] == hashlib.sha256(content).digest() else None

    def put(self, key: str, content: bytes) -> None:
        if len(content) > _LARGEST:
            return
        with suppress(OSError):
            descriptor, name = tempfile.mkstemp(dir=self._directory, prefix=".tmp-")
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(hashlib.sha256(content).digest() + content)
                Path(name).replace(self._directory / key)
            except BaseException:  # whatever ends it, no temporary file stays
                Path(name).unlink(missing_ok=True)
                raise
            # Listing the entries takes long where they are many, which small ones are: they are cleaned up more rarely.
            if key.startswith("00" if len(content) >= _LARGE else "000"):
                self.clean()

    def clean(self) -> None:
        """Remove the entries that were not used for longest, until the others fit."""
        found = []
        for entry in os.scandir(self._directory):
            with suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                found.append((status.st_mtime, status.st_size, entry.path))
        room = _MOST_BYTES
        for _, size, path in sorted(found, reverse=True):
            room -= size
            if room < 0:
                with suppress(OSError):
                    Path(path).unlink()

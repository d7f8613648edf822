"""Renderings that cannot be made again, on disk beside the content: of charts with random passwords, for instance.

    <directory>/renderings/<key>    in a directory that only the operator's user may enter, and that is not served

A file appears by rename only, after an fsync. It begins with the SHA-256 of the rest, so that what the disk has damaged
counts as lost: it is removed, and a line of the log names it. One process owns a directory.

Blocking: call it from threads. OSErrors come out as StoreUnavailableError.
"""

import hashlib
import logging
import os
import re
import threading
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Final

from rukpak_py.content import disk

LOG = logging.getLogger(__name__)
FOLDER: Final = "renderings"
_KEY: Final = re.compile(r"[0-9a-f]{64}")
_FILE_MODE: Final = 0o600
_DIGEST_BYTES: Final = 64  # in hexadecimal digits


class RenderingStore:
    """`most`: bytes of one rendering; a larger one is not read."""

    def __init__(self, directory: Path, *, most: int) -> None:
        self._directory = directory
        self._most = most
        self._lock = threading.Lock()  # a sweep takes no file away that is being written

    def put(self, key: str, pieces: Sequence[bytes]) -> None:
        """`key`: 64 hexadecimal digits."""
        digest = hashlib.sha256()
        for piece in pieces:
            digest.update(piece)
        with self._lock, self._opened() as folder:
            disk.write(folder, _name(key), [digest.hexdigest().encode(), *pieces], _FILE_MODE)

    def get(self, key: str) -> bytes | None:
        """None when it is not there, too large, or damaged: then it is removed."""
        name = _name(key)
        with self._opened() as folder:
            if not disk.is_file(folder, name):
                return None
            with disk.open_file(folder, name) as file:
                data = file.read(self._most + _DIGEST_BYTES + 1)
            written, rest = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
            if len(rest) <= self._most and hashlib.sha256(rest).hexdigest().encode() == written:
                return rest
            LOG.warning("the stored rendering %s is damaged and counts as lost", self._directory / FOLDER / name)
            with suppress(OSError):  # where it cannot be removed it is found out again
                os.unlink(name, dir_fd=folder)
            return None

    def sweep(self, keep: AbstractSet[str]) -> None:
        """Remove all others, and what a crash left behind."""
        with self._lock, self._opened() as folder:
            for name in disk.names(folder):
                if name not in keep:
                    os.unlink(name, dir_fd=folder)

    def _opened(self) -> AbstractContextManager[int]:
        return disk.private_folder(self._directory, FOLDER, what="the store of renderings")


def _name(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise ValueError(f"{key!r} is not the key of a rendering")
    return key

"""The private directory of a fetch: for a bare repository and for keys, gone at the end whatever happens.

A process that was killed leaves its directories behind, keys included. Each directory is locked by who uses it, so
the next one to make a directory recognises those, and removes them.
"""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "rukpak-git-"
_YOUNG_SECONDS = 60.0  # it may not be locked yet


class Workspace:
    """Blocks. `repository` is inside, so that nothing else is ever part of it."""

    def __init__(self, parent: Path | None = None) -> None:
        self._parent = Path(parent or tempfile.gettempdir())
        self._remove_abandoned()
        self.directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=self._parent))  # 0700
        self._lock = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.repository = self.directory / "repository"

    def close(self) -> None:
        """By descriptor: a link that somebody put in the place of a directory is not followed."""
        shutil.rmtree(self.directory, ignore_errors=True)
        os.close(self._lock)

    def size(self) -> int:
        """On disk, while git writes."""
        return sum(_sizes(self.repository))

    def _remove_abandoned(self) -> None:
        for path in self._parent.glob(f"{_PREFIX}*"):
            with suppress(OSError), _locked_by_nobody(path) as is_abandoned:
                if is_abandoned:
                    shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _locked_by_nobody(path: Path) -> Iterator[bool]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        found = os.fstat(descriptor)
        is_old = time.time() - found.st_mtime > _YOUNG_SECONDS
        if is_old and found.st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield True
        else:
            yield False
    finally:
        os.close(descriptor)


def _sizes(directory: Path) -> Iterator[int]:
    with suppress(FileNotFoundError), os.scandir(directory) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                if entry.is_dir(follow_symlinks=False):
                    yield from _sizes(Path(entry.path))
                else:
                    yield entry.stat(follow_symlinks=False).st_size

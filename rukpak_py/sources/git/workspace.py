"""The private directory of a fetch: for a bare repository and for keys, gone at the end whatever happens.

A process that was killed leaves its directories behind, keys included. Each directory is locked by who uses it, so
whoever starts, or makes a directory, recognises those, and removes them. One that was made a moment ago, and is not
locked yet, may be taken for one of them; its maker notices, and makes another one.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rukpak_py.core.errors import UnavailableError

_PREFIX = "rukpak-git-"
_MOST_TRIES = 5


class Workspace:
    """Blocks. `repository` is inside, so that nothing else is ever part of it."""

    def __init__(self, parent: Path | None = None) -> None:
        remove_abandoned(parent)
        self.directory, self._lock = _made_and_locked(_temporary(parent))
        self.repository = self.directory / "repository"
        self.commits = self.directory / "commits"

    def close(self) -> None:
        """By descriptor: a link that somebody put in the place of a directory is not followed."""
        shutil.rmtree(self.directory, ignore_errors=True)
        os.close(self._lock)

    def clear(self) -> None:
        """Begin again."""
        for repository in (self.repository, self.commits):
            shutil.rmtree(repository, ignore_errors=True)

    def size(self) -> int:
        """On disk, while git writes."""
        return sum(_sizes(self.directory))


def remove_abandoned(parent: Path | None = None) -> None:
    """What processes that were killed have left behind."""
    for path in _temporary(parent).glob(f"{_PREFIX}*"):
        with suppress(OSError), _locked_by_nobody(path):
            shutil.rmtree(path, ignore_errors=True)


def _temporary(parent: Path | None) -> Path:
    return Path(parent or tempfile.gettempdir())


def _made_and_locked(parent: Path) -> tuple[Path, int]:
    for _ in range(_MOST_TRIES):
        directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))  # 0700
        with suppress(FileNotFoundError):
            lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if directory.exists():
                return directory, lock
            os.close(lock)
    raise UnavailableError(f"somebody removes the temporary directories of git in {parent}")


@contextmanager
def _locked_by_nobody(path: Path) -> Iterator[None]:
    """OSError when somebody has it locked, or when it is not ours."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise PermissionError(path)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
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

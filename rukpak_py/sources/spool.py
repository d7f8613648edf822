"""Temporary files of everything that arrives from servers, within one budget of bytes for the process.

Content is written down while it arrives and read only once it is complete, in a worker process: a slow server holds
neither memory nor a place among those who do. What a `Share` of the budget counts may also lie elsewhere, as the
repository that git writes.

A private directory holds the files. A process that was killed leaves it behind, keys included, and the next one
removes it: each directory is locked by its process. One that was made a moment ago, and is not locked yet, may be
taken for an abandoned one; its maker notices, and makes another. Blocking: call it from threads, all but `share`.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import BinaryIO, Self

from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.limits import Limits, readable_size, variable_of
from rukpak_py.sources.budget import Budget, Share

_PREFIX = "rukpak-spool-"
_MOST_TRIES = 5


class Spool:
    def __init__(self, limits: Limits, parent: Path | None = None) -> None:
        most = readable_size(limits.spool_bytes)
        refusal = (
            f"more than {most} of content arrive at a time ({variable_of('spool_bytes')} sets it), most of it here; "
            "retrying later"
        )
        self._budget = Budget(limits.spool_bytes, refusal=refusal)
        self._given = parent
        self._directory: Path | None = None
        self._directory_lock = -1
        self._making = Lock()  # of the directory: it may wait for the disk, and for another process

    @property
    def _parent(self) -> Path:
        return self._given or Path(tempfile.gettempdir())

    @property
    def used(self) -> int:
        """Bytes of the budget."""
        return self._budget.used

    def share(self) -> Share:
        """A share of the budget, for files that lie elsewhere."""
        return self._budget.share()

    def file(self, share: Share | None = None) -> "SpoolFile":
        """An empty file. `share`: what it counts for; without one it has a share of its own."""
        try:
            descriptor, path = tempfile.mkstemp(dir=self._made())
        except OSError as error:
            raise _failed(error) from error
        return SpoolFile(Path(path), os.fdopen(descriptor, "wb"), share or self.share(), owns_share=share is None)

    def directory(self) -> Path:
        """An empty private directory; the caller removes it, and counts what is in it."""
        try:
            return Path(tempfile.mkdtemp(dir=self._made()))  # 0700
        except OSError as error:
            raise _failed(error) from error

    def remove_abandoned(self) -> None:
        """Remove what processes that were killed have left behind."""
        for path in self._parent.glob(f"{_PREFIX}*"):
            if path != self._directory:
                with suppress(OSError), _locked_unused(path):
                    remove_directory(path)

    def close(self) -> None:
        with self._making:
            directory, self._directory = self._directory, None
        if directory is not None:
            remove_directory(directory)
            os.close(self._directory_lock)

    def _made(self) -> Path:
        with self._making:
            if self._directory is not None and self._directory.exists():
                return self._directory
            if self._directory is not None:  # it was removed
                self._directory = None
                os.close(self._directory_lock)
            self._directory, self._directory_lock = _made_and_locked(self._parent)
            return self._directory


class SpoolFile:
    """Written by one thread at a time; `path` is for a worker process, after `complete`. In a `with` block."""

    def __init__(self, path: Path, file: BinaryIO, share: Share, *, owns_share: bool) -> None:
        self.path = path
        self._file = file
        self._share = share
        self._owns_share = owns_share

    def write(self, data: bytes) -> None:
        """UnavailableError when there is no room for it."""
        self._share.add(len(data))
        try:
            self._file.write(data)
        except OSError as error:
            raise _failed(error) from error

    def complete(self) -> None:
        """Complete the file: all of it is there."""
        try:
            self._file.flush()
        except OSError as error:
            raise _failed(error) from error
        if self._owns_share:
            self._share.settle()

    def close(self) -> None:
        """Close and delete the file."""
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
        if self._owns_share:
            self._share.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _failed(error: OSError) -> UnavailableError:
    return UnavailableError(f"content cannot be kept in a temporary file: {error.strerror or error}")


def _made_and_locked(parent: Path) -> tuple[Path, int]:
    for _ in range(_MOST_TRIES):
        directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))  # 0700
        with suppress(FileNotFoundError):
            lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if directory.exists():
                return directory, lock
            os.close(lock)
    raise UnavailableError(f"another process removes the temporary directories in {parent}")


@contextmanager
def _locked_unused(path: Path) -> Iterator[None]:
    """Lock the directory. Raises OSError when a process has it locked, or when it is not ours."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise PermissionError(path)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


_MOVED = ".removed-"


def remove_directory(top: Path) -> None:
    """Remove as much of it as possible, without an error, whatever is in it.

    `shutil.rmtree` calls itself for each level, and fails from a thousand of them on: a server can name a branch like
    that. Here each directory is first moved to the top, so neither the stack nor a path grows. Links are not followed.
    """
    numbers = count()
    found = [top]
    while found:
        directory = found.pop()
        with suppress(OSError):
            found += _emptied(directory, top, numbers)
        if directory != top:
            with suppress(OSError):
                directory.rmdir()
    with suppress(OSError):
        top.rmdir()


def _emptied(directory: Path, top: Path, numbers: "count[int]") -> list[Path]:
    """The directories that were in it: at the top now."""
    moved = []
    with os.scandir(directory) as entries:
        inner = list(entries)
    for entry in inner:
        with suppress(OSError):
            if not entry.is_dir(follow_symlinks=False):
                Path(entry.path).unlink()
            elif directory == top:
                moved.append(Path(entry.path))
            else:
                place = next(free for n in numbers if not (free := top / f"{_MOVED}{n}").exists())
                Path(entry.path).rename(place)
                moved.append(place)
    return moved

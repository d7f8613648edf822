"""The private directory of a fetch, in the spool: for a bare repository, for keys and for whatever git writes.

It is gone at the end whatever happens; what a killed operator leaves behind goes with its spool. What is in it counts
for the spool's budget. Blocking: call it from threads.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from os import scandir
from pathlib import Path

from rukpak_py.sources.spool import Spool, remove_directory

_BLOCK = 4096  # bytes that an entry takes at least: a server decides how many refs there are, each in a file
_REMOVALS = 20
_PAUSE_SECONDS = 0.05  # a process that was killed may still finish a system call


class Workspace:
    """`repository` is inside, so that nothing else is ever part of it."""

    def __init__(self, spool: Spool) -> None:
        self.directory = spool.directory()
        self._share = spool.share()
        self.repository = self.directory / "repository"
        self.commits = self.directory / "commits"

    def close(self) -> None:
        """Links are not followed."""
        for _ in range(_REMOVALS):
            remove_directory(self.directory)
            if not self.directory.exists():
                break
            time.sleep(_PAUSE_SECONDS)
        self._share.release()

    def clear(self) -> None:
        """Begin again."""
        for repository in (self.repository, self.commits):
            remove_directory(repository)

    def measure(self, *, at_most: int) -> bool:
        """Whether what git wrote so far takes at most so many bytes on disk; UnavailableError without room for it.

        The walk ends once it is more, so it has a bounded number of steps.
        """
        size = 0
        for one in _sizes(self.directory):
            size += one
            if size > at_most:
                return False
        self._share.set(size)
        return True

    def settle(self) -> None:
        """Count it as complete: nothing is written any more."""
        self._share.settle()


def _sizes(top: Path) -> Iterator[int]:
    """Yield the size of each entry, in whole blocks."""
    found = [str(top)]
    while found:
        with suppress(OSError), scandir(found.pop()) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    yield max(-(-entry.stat(follow_symlinks=False).st_size // _BLOCK), 1) * _BLOCK
                    if entry.is_dir(follow_symlinks=False):
                        found.append(entry.path)

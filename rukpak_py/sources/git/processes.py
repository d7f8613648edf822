"""How many processes a process group has had, for as long as somebody asks often.

The kernel's own bound (RLIMIT_NPROC) counts all processes of the user, those of the operator and of other containers
of the node included, so it is of no use here.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


class GroupProcesses:
    def __init__(self, group: int) -> None:
        self._group = group
        self._seen: set[int] = set()

    def count(self) -> int:
        """All that were there at this or at an earlier call; 0 on systems without /proc."""
        self._seen.update(_members(self._group))
        return len(self._seen)


def _members(group: int) -> Iterator[int]:
    with suppress(FileNotFoundError):
        for name in os.listdir(_PROC):  # noqa: PTH208 - names are all that is needed
            if name.isdecimal():
                with suppress(OSError):  # it has ended
                    if os.getpgid(int(name)) == group:
                        yield int(name)

"""How many processes a process group has had, and their processor time, as far as they are looked at often.

The kernel's own bound on processes (RLIMIT_NPROC) counts all of the user, those of the operator and of other
containers of the node included, so it is of no use here. Its bound on processor time holds for each process alone.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")  # of processor time in a second
_USER, _SYSTEM = 11, 12  # among the fields behind the name of the program


class GroupProcesses:
    def __init__(self, group: int) -> None:
        self._group = group
        self._seconds: dict[int, float] = {}

    def look(self) -> None:
        """Finds nothing on systems without /proc."""
        for process in _members(self._group):
            self._seconds[process] = _processor_seconds(process) or self._seconds.get(process, 0.0)

    @property
    def count(self) -> int:
        """All that were ever seen."""
        return len(self._seconds)

    @property
    def processor_seconds(self) -> float:
        """Of all of them together."""
        return sum(self._seconds.values())


def _members(group: int) -> Iterator[int]:
    with suppress(FileNotFoundError):
        for name in os.listdir(_PROC):  # noqa: PTH208 - names are all that is needed
            if name.isdecimal():
                with suppress(OSError):  # it has ended
                    if os.getpgid(int(name)) == group:
                        yield int(name)


def _processor_seconds(process: int) -> float:
    with suppress(OSError):
        fields = (_PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[_USER]) + int(fields[_SYSTEM])) / _TICKS
    return 0.0

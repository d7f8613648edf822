"""The number of processes that a group has had, their processor time, and their memory, if it is looked at often.

The kernel's own bound on processes (RLIMIT_NPROC) counts all of the user, those of the operator and of other
containers of the node included, so it is of no use here. Its bounds on processor time and memory hold for each process
alone.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")  # of processor time in a second
_USER, _SYSTEM = 11, 12  # among the fields behind the name of the program
_PAGE = os.sysconf("SC_PAGE_SIZE")
_RESIDENT, _SHARED = 1, 2  # among the fields of memory


class GroupProcesses:
    def __init__(self, group: int) -> None:
        self._group = group
        self._seconds: dict[int, float] = {}
        self.memory = 0
        """Bytes of their own that all of them had at the last look, without files that the kernel can read again."""

    def look(self) -> None:
        """Finds nothing on systems without /proc."""
        memory = 0
        for process in _members(self._group):
            self._seconds[process] = _processor_seconds(process) or self._seconds.get(process, 0.0)
            memory += _own_memory(process)
        self.memory = memory

    @property
    def count(self) -> int:
        """The number of processes that were ever seen."""
        return len(self._seconds)

    @property
    def processor_seconds(self) -> float:
        """Processor time of all of them together."""
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


def _own_memory(process: int) -> int:
    with suppress(OSError):
        fields = (_PROC / str(process) / "statm").read_text().split()
        return (int(fields[_RESIDENT]) - int(fields[_SHARED])) * _PAGE
    return 0

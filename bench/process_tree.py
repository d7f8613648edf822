"""Processor time and memory of a process and its children, read from /proc."""

import asyncio
import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import Self

TICKS = os.sysconf("SC_CLK_TCK")
PSS_INTERVAL_SECONDS = 0.5


def cpu_seconds(pid: int) -> float:
    """Since it began, with its children: those that run and those that have ended."""
    total = 0
    for one in _tree(pid):
        with suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            # user and system time, its own and that of children it has waited for
            total += sum(int(field) for field in fields[11:15])
    return total / TICKS


def children_cpu_seconds() -> float:
    """Processor time of the children of this process that have ended."""
    times = resource.getrusage(resource.RUSAGE_CHILDREN)
    return times.ru_utime + times.ru_stime


def pss_bytes(pid: int) -> int:
    """Shared pages are counted once: a forked child shares most of its parent's."""
    total = 0
    for one in _tree(pid):
        with suppress(OSError):
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


def rss_bytes(pid: int) -> int:
    """Resident memory of the process alone."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))


class PeakMemory:
    """The largest proportional set size of a process and its children while the block runs."""

    def __init__(self, pid: int) -> None:
        self.bytes = 0
        self._pid = pid
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._sample())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _sample(self) -> None:
        while True:
            self.bytes = max(self.bytes, pss_bytes(self._pid))
            await asyncio.sleep(PSS_INTERVAL_SECONDS)


def _tree(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        for children in Path(f"/proc/{one}/task").glob("*/children"):
            with suppress(OSError):
                found += [int(child) for child in children.read_text().split()]
    return found

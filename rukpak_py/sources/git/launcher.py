"""Bounds its own process, and becomes the program that its arguments name.

    python -I -S launcher.py PARENT MEMORY FILE-SIZE CPU-SECONDS PROGRAM ARGUMENT...

A process of its own does this, because the one that asks has threads, between whose fork and exec nothing is safe to
do. The kernel keeps the bounds, for each process that the program starts as well: memory (RLIMIT_DATA: git maps packs,
which costs addresses and no memory), the size of each file, CPU time, open files, no core.

The program gets SIGALRM when the thread that asked for it ends, however it ends. `timeout` takes that for the end of
its time. Imports the standard library only: it starts in milliseconds, without this package.
"""

import ctypes
import os
import resource
import signal
import sys
from contextlib import suppress

PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38
OPEN_FILES = 256
NOT_STARTED = 126
GRACE_SECONDS = 2  # of CPU time, between SIGXCPU and SIGKILL


def main() -> None:
    parent, memory, file_size, cpu_seconds = map(int, sys.argv[1:5])
    command = sys.argv[5:]
    if sys.platform == "linux":
        _end_with(parent)
    _bound(resource.RLIMIT_DATA, memory)
    _bound(resource.RLIMIT_FSIZE, file_size)
    _bound(resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + GRACE_SECONDS)
    _bound(resource.RLIMIT_NOFILE, OPEN_FILES)
    _bound(resource.RLIMIT_CORE, 0)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:  # noqa: PTH123 - pathlib costs more than all else here
        score.write("1000")
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell is the point
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}")
        sys.exit(NOT_STARTED)


def _end_with(parent: int) -> None:
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGALRM, 0, 0, 0)
    if os.getppid() != parent:  # it ended before it could be told
        sys.exit(NOT_STARTED)


def _bound(limit: int, soft: int, hard: int | None = None) -> None:
    _, most = resource.getrlimit(limit)
    hard = soft if hard is None else hard
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    with suppress(OSError, ValueError):  # systems that know no such limit
        resource.setrlimit(limit, (soft, hard))


if __name__ == "__main__":
    main()

"""Puts its own process into a sandbox, and becomes the program that its arguments name.

    python -I -S launcher.py PARENT MEMORY CPU-SECONDS PROGRAM ARGUMENT...

A process of its own does this, because the one that asks has threads, between whose fork and exec nothing is safe to
do. The limits are the kernel's: memory (for Go that is RLIMIT_DATA; it reserves far more addresses than it uses), CPU
time, no files written, no core. It ends when its parent thread ends. It gets an empty network where the kernel allows
an unprivileged process that, which a restricted pod does not. Imports the standard library only: it starts in
milliseconds, without this package.
"""

import ctypes
import os
import resource
import sys
from contextlib import suppress

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38
SIGKILL = 9
OPEN_FILES = 64
NOT_STARTED = 126
GRACE_SECONDS = 2  # of CPU time, between SIGXCPU and SIGKILL


def main() -> None:
    parent, memory, cpu_seconds = map(int, sys.argv[1:4])
    command = sys.argv[4:]
    if sys.platform == "linux":
        _isolate(parent)
    _bound(resource.RLIMIT_DATA, memory)
    _bound(resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + GRACE_SECONDS)
    _bound(resource.RLIMIT_NOFILE, OPEN_FILES)
    _bound(resource.RLIMIT_FSIZE, 0)
    _bound(resource.RLIMIT_CORE, 0)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:  # noqa: PTH123 - pathlib costs more than all else here
        score.write("1000")
    try:
        os.execv(command[0], command)  # noqa: S606 - no shell is the point
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}")
        sys.exit(NOT_STARTED)


def _isolate(parent: int) -> None:
    libc = ctypes.CDLL(None)
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
        libc.unshare(CLONE_NEWNET)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # A new user namespace forgets this, so it comes after it.
    libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
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

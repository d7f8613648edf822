"""Bounds its own process, and becomes the program that its arguments name: helm or git. See `launcher_command`.

    python -I -S launcher.py PARENT END-SIGNAL NETWORK MEMORY FILE-SIZE CPU-SECONDS OPEN-FILES PROGRAM ARGUMENT...

A process of its own does this, because the one that asks has threads, between whose fork and exec nothing is safe to
do. The kernel keeps the bounds, for each process that the program starts as well: memory (RLIMIT_DATA: Go reserves far
more addresses than it uses, and git maps packs), the size of each file, CPU time, open files, no core. The program gets
the end signal when the thread that asked for it ends, however it ends. NETWORK is "none" for a program that gets an
empty network, where the kernel allows an unprivileged process that, which a restricted pod does not.

Imports the standard library only: it starts in milliseconds, without this package.
"""

import ctypes
import os
import resource
import signal
import sys
from contextlib import suppress

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38
NOT_STARTED = 126
GRACE_SECONDS = 2  # of CPU time, between SIGXCPU and SIGKILL
NO_NETWORK = "none"


def launcher_command(
    *,
    memory: int,
    file_size: int,
    cpu_seconds: int,
    open_files: int,
    end_signal: signal.Signals,
    has_network: bool,
) -> list[str]:
    """What comes before a command to have it bounded; for the process that starts it."""
    bounds = (memory, file_size, cpu_seconds, open_files)
    network = "shared" if has_network else NO_NETWORK
    return [sys.executable, "-I", "-S", __file__, *map(str, (os.getpid(), int(end_signal), network, *bounds))]


def main() -> None:
    parent, end_signal = map(int, sys.argv[1:3])
    memory, file_size, cpu_seconds, open_files = map(int, sys.argv[4:8])
    command = sys.argv[8:]
    if sys.platform == "linux":
        _confine(parent, end_signal, has_network=sys.argv[3] != NO_NETWORK)
    _bound(resource.RLIMIT_DATA, memory)
    _bound(resource.RLIMIT_FSIZE, file_size)
    _bound(resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + GRACE_SECONDS)
    _bound(resource.RLIMIT_NOFILE, open_files)
    _bound(resource.RLIMIT_CORE, 0)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:  # noqa: PTH123 - pathlib costs more than all else here
        score.write("1000")
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell is the point
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}")
        sys.exit(NOT_STARTED)


def _confine(parent: int, end_signal: int, *, has_network: bool) -> None:
    libc = ctypes.CDLL(None)
    if not has_network and libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
        libc.unshare(CLONE_NEWNET)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # A new user namespace forgets this, so it comes after it.
    libc.prctl(PR_SET_PDEATHSIG, end_signal, 0, 0, 0)
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

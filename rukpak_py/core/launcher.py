"""Bounds its own process, and becomes the program that its arguments name: helm or git. See `launcher_command`.

    python -I -S launcher.py PARENT END-SIGNAL NETWORK LISTENER MEMORY FILE-SIZE CPU-SECONDS OPEN-FILES
                             PROGRAM ARGUMENT...

A process of its own does this, because the one that asks has threads, between whose fork and exec nothing is safe to
do. The kernel keeps the bounds, for each process that the program starts as well: memory (RLIMIT_DATA: Go reserves far
more addresses than it uses, and git maps packs), the size of each file, CPU time, open files, no core. The program gets
the end signal when the thread that asked for it ends, however it ends. NETWORK is "none" for a program that gets an
empty network, where the kernel allows an unprivileged process that, which a restricted pod does not.

LISTENER is "-", or `SOCKET:VARIABLE` for a program that talks to a server of the process that asks. A listening socket
belongs to the network in which it was made, so it is made here and passed out by SOCKET, with the path below which
requests count; VARIABLE is the URL for the program. In a network of its own nothing else can reach it. In a shared one
anything of the same machine or pod can: only the program knows the path, which is random then.

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
NO_LISTENER = "-"
_LOOPBACK = "127.0.0.1"
_SECRET_BYTES = 32
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


def launcher_command(
    *,
    memory: int,
    file_size: int,
    cpu_seconds: int,
    open_files: int,
    end_signal: signal.Signals,
    has_network: bool,
    listener: tuple[int, str] | None = None,
) -> list[str]:
    """The arguments to put before a command that runs within bounds; for the process that starts it.

    `listener`: the descriptor of the socket by which a listener is passed out, and the variable that gets its URL.
    """
    bounds = (memory, file_size, cpu_seconds, open_files)
    network = "shared" if has_network else NO_NETWORK
    passed = NO_LISTENER if listener is None else f"{listener[0]}:{listener[1]}"
    return [sys.executable, "-I", "-S", __file__, *map(str, (os.getpid(), int(end_signal), network, passed, *bounds))]


def main() -> None:
    parent, end_signal = map(int, sys.argv[1:3])
    memory, file_size, cpu_seconds, open_files = map(int, sys.argv[5:9])
    command = sys.argv[9:]
    is_alone = False
    if sys.platform == "linux":
        is_alone = _confine(parent, end_signal, has_network=sys.argv[3] != NO_NETWORK)
    if sys.argv[4] != NO_LISTENER:
        channel, _, variable = sys.argv[4].partition(":")
        os.environ[variable] = _pass_listener(int(channel), is_alone=is_alone)
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


def _confine(parent: int, end_signal: int, *, has_network: bool) -> bool:
    """Whether the network is its own."""
    libc = ctypes.CDLL(None)
    is_alone = not has_network and (libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 or libc.unshare(CLONE_NEWNET) == 0)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # A new user namespace forgets this, so it comes after it.
    libc.prctl(PR_SET_PDEATHSIG, end_signal, 0, 0, 0)
    if os.getppid() != parent:  # it ended before it could be told
        sys.exit(NOT_STARTED)
    return is_alone


def _pass_listener(channel: int, *, is_alone: bool) -> str:
    """The URL of the server that listens there."""
    import array  # noqa: PLC0415 - git, which is started often, needs neither
    import socket  # noqa: PLC0415

    if is_alone:
        _start_loopback()
    path = "" if is_alone else f"/{os.urandom(_SECRET_BYTES).hex()}"
    with socket.socket() as listener, socket.socket(fileno=channel) as asker:
        listener.bind((_LOOPBACK, 0))
        listener.listen()
        descriptor = array.array("i", [listener.fileno()])
        asker.sendmsg([path.encode() or b"/"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptor)])
        return f"http://{_LOOPBACK}:{listener.getsockname()[1]}{path}"


def _start_loopback() -> None:
    """The one interface that an own network has is down at first."""
    import fcntl  # noqa: PLC0415 - as above
    import socket  # noqa: PLC0415
    import struct  # noqa: PLC0415

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        answer = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, struct.pack("16sH14x", b"lo", 0))
        _, flags = struct.unpack("16sH", answer[:18])
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))


def _bound(limit: int, soft: int, hard: int | None = None) -> None:
    _, most = resource.getrlimit(limit)
    hard = soft if hard is None else hard
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    with suppress(OSError, ValueError):  # systems that know no such limit
        resource.setrlimit(limit, (soft, hard))


if __name__ == "__main__":
    main()

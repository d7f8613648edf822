"""How much memory a worker process and git may take, so that no content gets the operator killed with its container.

The operator's own process gives memory back as soon as it is free, see `return_large_buffers`.
"""

import ctypes
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from rukpak_py.core.limits import MIB

OPERATOR = 160 * MIB  # for the process that starts the workers
WITHOUT_LIMIT = 512 * MIB
FLOOR = 128 * MIB  # less than this a worker cannot do its work in
_NO_LIMIT = 1 << 50  # cgroup v1 writes "none" as a number close to 2**63

_M_MMAP_THRESHOLD = -3
_LARGE = 128 * 1024  # bytes

_MEMBERSHIP = Path("/proc/self/cgroup")
_CGROUPS = Path("/sys/fs/cgroup")


def worker_memory(workers: int, container: int | None) -> int:
    """The bytes of data for each worker process, whole MiB; `container` is the limit for all processes together."""
    if container is None:
        return WITHOUT_LIMIT
    share = (container - OPERATOR) // workers
    return max(share // MIB * MIB, FLOOR)


def git_memory(most: int, workers: int, container: int | None) -> int:
    """The bytes for all git commands together: no more than for a worker process."""
    return most if container is None else min(most, worker_memory(workers, container))


def return_large_buffers() -> None:
    """Have each large buffer mapped by itself, so that it goes back to the system when it is freed.

    The C library begins so, and then keeps ever larger buffers on its heap, where small ones between them hold them:
    requests of some megabytes, a hundred at a time, left the process with hundreds of megabytes for ever.
    """
    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)


def container_memory(membership: Path = _MEMBERSHIP, cgroups: Path = _CGROUPS) -> int | None:
    """The lowest limit of the control groups (v2 or v1) that this process is in; None where there is none."""
    found = [limit for file in _limit_files(membership, cgroups) if (limit := _limit_in(file)) is not None]
    return min(found, default=None)


def _limit_files(membership: Path, cgroups: Path) -> Iterator[Path]:
    """A container may see its own group as the root of all, so the root counts too."""
    for line in _read(membership).splitlines():
        number, controllers, path = line.split(":", 2)
        groups = PurePosixPath(path)
        for group in (groups, *groups.parents):
            inside = str(group).lstrip("/")
            if number == "0":
                yield cgroups / inside / "memory.max"
            elif "memory" in controllers.split(","):
                yield cgroups / "memory" / inside / "memory.limit_in_bytes"


def _limit_in(file: Path) -> int | None:
    text = _read(file).strip()
    if not text.isdecimal():  # "max", or nothing
        return None
    return limit if (limit := int(text)) < _NO_LIMIT else None


def _read(file: Path) -> str:
    with suppress(OSError):
        return file.read_text()
    return ""

"""Limits of memory and of open files for the processes of the operator.

* A worker process and git get a share of the container's memory, so that no content gets the operator killed with it.
  The operator's own process gives memory back as soon as it is free, see `return_large_buffers`.
* The operator's process may have as many files open as it can be given: every connection needs a descriptor, and a
  process with none left cannot even reach the API server. The usual soft limit of 1,024 is for programs that use
  select(), which nothing here does.
"""

import ctypes
import logging
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from rukpak_py.core.limits import MIB, Limits

LOG = logging.getLogger(__name__)
OPERATOR = 160 * MIB  # for the process that starts the workers
WITHOUT_LIMIT = 512 * MIB
FLOOR = 128 * MIB  # less than this a worker cannot do its work in
_NO_LIMIT = 1 << 50  # cgroup v1 writes "none" as a number close to 2**63

_M_MMAP_THRESHOLD = -3
_LARGE = 128 * 1024  # bytes

HIGHEST = 1 << 20  # some programs close every descriptor up to the limit when they start, and we start programs
OWN_FILES = 256  # for watches, sources, worker processes and content
PER_FORWARDED = 2  # descriptors of a connection that is passed on to the leader

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


def raise_open_files(limits: Limits) -> None:
    """Raise the soft limit, and warn where the ports may use up what is left."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = wanted_limit(soft, hard)
    if wanted != soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    if wanted < (needed := needed_files(limits)):
        LOG.warning(
            "%d files may be open, and the connections that the limits allow need %d: raise the limit (ulimit -n), or "
            "lower the limits on connections",
            wanted,
            needed,
        )


def wanted_limit(soft: int, hard: int) -> int:
    """The new soft limit; it is never lowered."""
    highest = HIGHEST if hard == resource.RLIM_INFINITY else min(hard, HIGHEST)
    return soft if soft == resource.RLIM_INFINITY else max(soft, highest)


def needed_files(limits: Limits) -> int:
    ports = PER_FORWARDED * limits.server_connections + limits.webhook_connections + 2 * limits.probe_connections
    return ports + OWN_FILES

"""The cgroups of containers that were left behind."""

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

from e2e.cluster.errors import ClusterError
from e2e.cluster.node.mounts import mount_points

END_SECONDS = 10.0
POLL_SECONDS = 0.05


def remove_cgroups(names: Iterable[str]) -> None:
    """End what still runs in these cgroups, in every hierarchy, and remove them and their parent when empty."""
    hierarchies = list(mount_points("cgroup2?"))
    for name in names:
        for hierarchy in hierarchies:
            if (hierarchy / name).is_dir():
                _remove(hierarchy / name)
    for parent in {name.partition("/")[0] for name in names}:
        for hierarchy in hierarchies:
            with contextlib.suppress(OSError):
                (hierarchy / parent).rmdir()


def _remove(root: Path) -> None:
    folders = [Path(folder) for folder, _, _ in os.walk(root, topdown=False)]
    deadline = time.monotonic() + END_SECONDS
    while pids := [pid for folder in folders for pid in _members(folder)]:
        if time.monotonic() > deadline:
            raise ClusterError(f"processes of pods in {root} do not end: {pids}")
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(POLL_SECONDS)
    for folder in folders:
        with contextlib.suppress(FileNotFoundError):
            folder.rmdir()


def _members(folder: Path) -> list[int]:
    try:
        return [int(pid) for pid in (folder / "cgroup.procs").read_text().split()]
    except OSError:
        return []

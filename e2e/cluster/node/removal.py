"""Everything that a node left, taken away: in order while it still runs, by force when it does not.

Works from the state directory's path alone, so a crashed `up`, a reboot or a deleted record leave no traces.
"""

import contextlib
import shutil
import signal
import subprocess

from e2e.cluster.errors import ClusterError
from e2e.cluster.node import containerd
from e2e.cluster.node.cgroups import remove_cgroups
from e2e.cluster.node.claim import holds, release
from e2e.cluster.node.host import restore_host
from e2e.cluster.node.layout import Layout
from e2e.cluster.node.mounts import mount_points
from e2e.cluster.node.traces import remove_traces
from e2e.cluster.processes import Processes, kill_strays
from e2e.cluster.state import StateDir


def remove_node(state: StateDir, processes: Processes) -> None:
    layout = Layout(state)
    for name in ("kube-proxy", "kubelet"):
        processes.stop(name, signal.SIGKILL)
    containers = containerd.containers(layout)
    shim_sockets = containerd.shim_sockets(layout)
    if processes.is_alive("containerd"):
        _end_containers(layout)
    processes.stop("containerd", signal.SIGKILL)
    kill_strays(state.path)
    remove_cgroups([f"{containerd.NAMESPACE}/{container}" for container in containers])
    for mount in reversed(list(mount_points())):
        if mount.is_relative_to(layout.folder):
            subprocess.run(["umount", "--lazy", str(mount)], check=False, capture_output=True)
    remove_traces(layout, containers, shim_sockets)
    if holds(state.path) or layout.has_bridge:
        # Else the machine was restarted: nothing of ours is left, and the rules may be another's by now.
        restore_host(layout)
    if layout.folder.exists():
        shutil.rmtree(layout.folder)
    release(state.path)


def _end_containers(layout: Layout) -> None:
    """Let the shims end in order: they remove their sockets and mounts then."""
    with contextlib.suppress(ClusterError):
        for task in containerd.ctr(layout, "tasks", "list", "--quiet").split():
            with contextlib.suppress(ClusterError):
                containerd.ctr(layout, "tasks", "delete", "--force", task)

"""Files of containerd, kubelet and CNI in places that cannot be configured."""

import contextlib
from collections.abc import Collection
from pathlib import Path

from e2e.cluster.node.layout import Layout

CNI_RESULTS = Path("/var/lib/cni/results")
CONTAINER_LOGS = Path("/var/log/containers")
DEVICE_PLUGINS = Path("/var/lib/kubelet/device-plugins")
SHIM_SOCKETS = Path("/run/containerd/s")
# Removed when they are empty: then they were made for us.
FOLDERS = (CNI_RESULTS, CONTAINER_LOGS, DEVICE_PLUGINS, SHIM_SOCKETS)
PARENTS = (CNI_RESULTS.parent, DEVICE_PLUGINS.parent, SHIM_SOCKETS.parent)


def remove_traces(layout: Layout, containers: Collection[str], shim_sockets: Collection[Path]) -> None:
    traces = [*shim_sockets, *CNI_RESULTS.glob(f"{layout.cni_network}-*")]
    traces += [CNI_RESULTS / f"cni-loopback-{container}-lo" for container in containers]
    traces += [link for link in CONTAINER_LOGS.glob("*.log") if _leads_into(link, layout.folder)]
    if layout.kubelet.exists():  # the claim sees to it that there is no other kubelet
        traces.append(DEVICE_PLUGINS / "kubelet.sock")
    for trace in traces:
        trace.unlink(missing_ok=True)
    for folder in (*FOLDERS, *PARENTS):
        with contextlib.suppress(OSError):
            folder.rmdir()


def _leads_into(link: Path, folder: Path) -> bool:
    return link.is_symlink() and link.readlink().is_relative_to(folder)

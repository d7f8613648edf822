"""The programs of the machine that a node needs."""

from pathlib import Path

from e2e.cluster import packages
from e2e.cluster.errors import ClusterError
from e2e.cluster.machine import is_root_on_linux

PROGRAMS = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "iptables-restore": "iptables",
    "ip": "iproute2",
    "mount": "mount",
}
CNI_FOLDERS = (Path("/usr/lib/cni"), Path("/opt/cni/bin"), Path("/usr/libexec/cni"))
CNI_PLUGINS = ("bridge", "host-local", "loopback")
CNI_PACKAGE = "containernetworking-plugins"


def require_node_support() -> None:
    """Install what is missing; say clearly when this machine cannot have a node."""
    if not is_root_on_linux():
        raise ClusterError("a node needs root on Linux; without --node a cluster needs neither")
    packages.install(_missing(), purpose="a node")
    if still := _missing():
        raise ClusterError(f"still missing after apt-get install: {' '.join(sorted(still))}")


def cni_folder() -> Path | None:
    return next((folder for folder in CNI_FOLDERS if all((folder / name).exists() for name in CNI_PLUGINS)), None)


def _missing() -> set[str]:
    return packages.missing(PROGRAMS) | ({CNI_PACKAGE} if cni_folder() is None else set())

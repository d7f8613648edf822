"""The names of a node and the places of its parts: all of them follow from the state directory."""

import hashlib
from pathlib import Path

from e2e.cluster.errors import ClusterError
from e2e.cluster.node.mounts import filesystem_of
from e2e.cluster.state import StateDir

NAME = "rukpak-node"
PAUSE_IMAGE = "rukpak.io/e2e/pause:1"
# The kernel allows 107 bytes for the path of a socket; containerd and kubelet add to ours.
LONGEST_FOLDER = 70


class Layout:
    def __init__(self, state: StateDir) -> None:
        self.folder = state.node
        self.pki = state.pki
        self.identity = hashlib.sha256(str(state.path).encode()).hexdigest()[:8]
        self.bridge = f"rukpak{self.identity}"
        self.cni_network = f"rukpak-{self.identity}"
        self.containerd = self.folder / "containerd"
        self.socket = self.containerd / "containerd.sock"
        self.registries = self.containerd / "certs.d"
        self.cni = self.folder / "cni"
        self.kubelet = self.folder / "kubelet"
        self.pod_logs = self.folder / "pod-logs"

    @property
    def has_bridge(self) -> bool:
        """Say whether the machine's network still holds parts of this node: the bridge goes last."""
        return (Path("/sys/class/net") / self.bridge).exists()

    def make(self) -> None:
        if len(str(self.folder)) > LONGEST_FOLDER:
            raise ClusterError(
                f"{self.folder} is too long for the sockets of a node: choose a shorter --state (at most "
                f"{LONGEST_FOLDER - len('/node')} characters)"
            )
        for folder in (self.folder, self.containerd, self.registries, self.cni, self.kubelet, self.pod_logs):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    @property
    def snapshotter(self) -> str:
        """Say how containerd stacks layers: overlayfs cannot lie on another overlayfs (CI in a container)."""
        return "native" if filesystem_of(self.folder) in {"overlay", "tmpfs"} else "overlayfs"

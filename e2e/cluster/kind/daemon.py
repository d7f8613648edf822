"""A Docker daemon of ours, for a machine where no engine answers: root on Linux.

It lives in namespaces of its own (network, mounts, processes), so that bridges, iptables rules, mounts and containers
end with its first process, however that ends; a pair of links leads in. There is no way out to the world: images come
in as archives. What is left to take away is named after the state directory: the network namespace, the link, the
cgroups, and the kernel settings that a node changes for the whole machine.
"""

import contextlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
from ipaddress import IPv4Address
from pathlib import Path

from e2e.cluster import packages
from e2e.cluster.errors import ClusterError
from e2e.cluster.kind.engine import ContainerEngine
from e2e.cluster.node.cgroups import remove_cgroups
from e2e.cluster.node.host import free_network, ip
from e2e.cluster.node.layout import Layout
from e2e.cluster.processes import Processes, kill_strays
from e2e.cluster.state import StateDir

PROGRAMS = {
    "dockerd": "docker.io",
    "docker": "docker.io",
    "containerd": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
}
START_SECONDS = 60.0
LONGEST_SOCKET = 107  # the kernel's limit
PREFIX = 30  # of the network between the two links: two addresses
# Its containerd makes the folders, and it its identity, which has no use here; each comes before the folder around it.
LEFT_BEHIND = tuple(
    map(Path, ("/etc/docker/key.json", "/opt/containerd/bin", "/opt/containerd/lib", "/opt/containerd"))
)
# A place of its own for sockets and locks; and a shell that stays, to reap processes that lose their parent.
INSIDE = 'mount -t tmpfs tmpfs /run || exit 1; "$@" & wait $!'
SYS_RESOURCE = 24  # the number of CAP_SYS_RESOURCE
RUNTIME_WRAPPER = Path(__file__).with_name("runtime_wrapper.py")


class Daemon:
    def __init__(self, state: StateDir) -> None:
        self._state = state
        identity = Layout(state).identity
        self._namespace = Path("/run/netns", f"rukpak-{identity}")
        self._link = f"rukind{identity}"
        self._cgroup = f"rukpak-kind-{identity}"
        self._socket = state.kind / "docker.sock"
        self.engine = ContainerEngine(program="docker", daemon={"DOCKER_HOST": f"unix://{self._socket}"})

    @property
    def has_parts(self) -> bool:
        return self._namespace.exists() or Path("/sys/class/net", self._link).exists()

    def start(self, processes: Processes) -> tuple[str, str]:
        """Give this machine's address for the cluster, and the one where published ports are."""
        packages.require(PROGRAMS, purpose="kind without a container engine")
        with free_network() as network:
            outside, inside = self._make_network(network.address)
        entered = [_path("nsenter"), f"--net={self._namespace}"]
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        processes.start("dockerd", [*entered, *apart, "sh", "-c", INSIDE, "sh", *self._command()])
        processes.wait_until("answering", lambda: self.engine.answers, component="dockerd", seconds=START_SECONDS)
        return outside, inside

    def stop(self, processes: Processes) -> None:
        processes.stop("dockerd", signal.SIGKILL)
        kill_strays(self._state.path)
        remove_cgroups([self._cgroup])
        if self._namespace.exists():
            ip("netns", "delete", self._namespace.name)
            self._remove_folder()
        if Path("/sys/class/net", self._link).exists():
            ip("link", "delete", self._link)

    def refuse_unusable_state(self) -> None:
        if self._state.path.is_relative_to("/run"):
            raise ClusterError(f"{self._state.path} is below /run, which the daemon cannot see: choose another")
        if len(str(self._socket)) > LONGEST_SOCKET:
            raise ClusterError(f"{self._socket} is too long for a socket: choose a shorter --state")

    def _remove_folder(self) -> None:
        """`ip netns` makes a mount of the folder, and leaves it."""
        folder = self._namespace.parent
        if not any(folder.iterdir()):
            subprocess.run(["umount", str(folder)], check=False, capture_output=True)
            with contextlib.suppress(OSError):
                folder.rmdir()

    def _make_network(self, outside: str) -> tuple[str, str]:
        inside = str(IPv4Address(outside) + 1)
        name, peer = self._namespace.name, "eth0"
        ip("netns", "add", name)
        ip("link", "add", self._link, "type", "veth", "peer", "name", peer, "netns", name)
        ip("address", "add", f"{outside}/{PREFIX}", "dev", self._link)
        ip("link", "set", self._link, "up")
        ip("-netns", name, "address", "add", f"{inside}/{PREFIX}", "dev", peer)
        for link in ("lo", peer):
            ip("-netns", name, "link", "set", link, "up")
        ip("-netns", name, "route", "add", "default", "via", outside)
        return outside, inside

    def _command(self) -> list[str]:
        return [
            _path("dockerd"),
            f"--data-root={self._state.kind / 'docker'}",
            f"--host=unix://{self._socket}",
            f"--cgroup-parent=/{self._cgroup}",
            "--exec-opt=native.cgroupdriver=cgroupfs",
            "--oom-score-adjust=0",
            *self._runtime(),
        ]

    def _runtime(self) -> list[str]:
        """Where root lacks a capability: older daemons ask for every one of the kernel's (moby/moby#42906)."""
        if not lacking_capability():
            return []
        wrapper = self._state.kind / "runc"
        words = shlex.join([sys.executable, "-I", str(RUNTIME_WRAPPER), _path("runc")])
        wrapper.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        wrapper.chmod(0o700)
        return [f"--add-runtime=wrapped={wrapper}", "--default-runtime=wrapped"]


def lacking_capability() -> str:
    """Text about a machine whose root may not do what a node of kind does; empty: it may."""
    if _bounding_set() >> SYS_RESOURCE & 1:
        return ""
    return "\nroot lacks CAP_SYS_RESOURCE here, which docker and podman want to give to the node"


def _bounding_set() -> int:
    found = re.search(r"^CapBnd:\s*([0-9a-f]+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1], 16) if found else -1


def _path(program: str) -> str:
    return shutil.which(program) or program

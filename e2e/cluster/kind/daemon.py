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
from e2e.cluster.kind.engine import Engine
from e2e.cluster.node.cgroups import remove_cgroups
from e2e.cluster.node.host import choose_network, ip, occupied_networks
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
PREFIX = 30  # of the network between the two links: two addresses
# A place of its own for sockets and locks; and somebody who stays, to reap what loses its parent.
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
        self.engine = Engine(program="docker", host=f"unix://{state.kind / 'docker.sock'}")

    @property
    def has_parts(self) -> bool:
        return self._namespace.exists() or Path("/sys/class/net", self._link).exists()

    def start(self, processes: Processes) -> tuple[str, str]:
        """Give the addresses of the two links: this machine's, and the one where published ports are."""
        packages.require(PROGRAMS, purpose="kind without a container engine")
        outside, inside = self._make_network()
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

    def _remove_folder(self) -> None:
        """`ip netns` makes a mount of the folder, and leaves it."""
        folder = self._namespace.parent
        if not any(folder.iterdir()):
            subprocess.run(["umount", str(folder)], check=False, capture_output=True)
            with contextlib.suppress(OSError):
                folder.rmdir()

    def _make_network(self) -> tuple[str, str]:
        outside = choose_network(occupied_networks()).address
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
            f"--host={self.engine.host}",
            f"--cgroup-parent=/{self._cgroup}",
            "--exec-opt=native.cgroupdriver=cgroupfs",
            "--oom-score-adjust=0",
            *self._runtime(),
        ]

    def _runtime(self) -> list[str]:
        """Where root lacks a capability: older daemons ask for every one of the kernel's (moby/moby#42906)."""
        if _bounding_set() >> SYS_RESOURCE & 1:
            return []
        wrapper = self._state.kind / "runc"
        words = shlex.join([sys.executable, "-I", str(RUNTIME_WRAPPER), _path("runc")])
        wrapper.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        wrapper.chmod(0o700)
        return [f"--add-runtime=wrapped={wrapper}", "--default-runtime=wrapped"]


def _bounding_set() -> int:
    found = re.search(r"^CapBnd:\s*([0-9a-f]+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1], 16) if found else -1


def _path(program: str) -> str:
    return shutil.which(program) or program

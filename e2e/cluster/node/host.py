"""Changes of a node on the machine: a bridge, a few kernel settings, iptables rules. All of them are undone."""

import contextlib
import ipaddress
import json
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from e2e.cluster import machine
from e2e.cluster.errors import ClusterError
from e2e.cluster.files import locked
from e2e.cluster.network import Network
from e2e.cluster.node import iptables
from e2e.cluster.node.layout import Layout
from e2e.cluster.programs import output
from e2e.cluster.settings import BRIDGE_FILTER, FORWARDING, SYSCTL, change_settings, record_settings, restore_settings

NEEDED = {FORWARDING: "1", BRIDGE_FILTER: "1"}
FIRST_RANGE, LAST_RANGE = 201, 250


@contextlib.contextmanager
def free_network() -> Iterator[Network]:
    """A network that no other process takes before the block has put it on a link."""
    lock = machine.RUN / f"rukpak-network-{machine.network_namespace()}.lock"
    with locked(lock):
        yield choose_network(occupied_networks())
        lock.unlink()


def choose_network(occupied: Iterable[ipaddress.IPv4Network]) -> Network:
    """Take the first 10.N.0.0/16 that nothing on this machine routes to."""
    taken = list(occupied)
    for number in range(FIRST_RANGE, LAST_RANGE + 1):
        whole = ipaddress.IPv4Network(f"10.{number}.0.0/16")
        if not any(whole.overlaps(other) for other in taken):
            return Network(address=f"10.{number}.0.1", pods=f"10.{number}.0.0/24", services=f"10.{number}.240.0/20")
    raise ClusterError(f"no free network for pods: 10.{FIRST_RANGE} to 10.{LAST_RANGE} are all routed here")


def occupied_networks() -> list[ipaddress.IPv4Network]:
    routes = json.loads(ip("-json", "-4", "route", "show", "table", "all"))
    networks = [route["dst"] for route in routes if route["dst"] != "default"]
    with contextlib.suppress(OSError):
        words = [line.split() for line in Path("/etc/resolv.conf").read_text().splitlines()]
        networks += [word[1] for word in words if word[:1] == ["nameserver"] and ":" not in word[1]]
    return [ipaddress.IPv4Network(network, strict=False) for network in networks]


def change_host(layout: Layout, network: Network) -> None:
    _load_bridge_filter()
    record_settings(layout.folder.parent)
    change_settings(NEEDED)
    ip("link", "add", layout.bridge, "type", "bridge")
    ip("address", "add", f"{network.address}/{ipaddress.ip_network(network.pods).prefixlen}", "dev", layout.bridge)
    ip("link", "set", layout.bridge, "up")
    iptables.restore("iptables", iptables.rules_for(layout.bridge, network.pods))


def restore_host(layout: Layout) -> None:
    iptables.remove_ours()
    restore_settings(layout.folder.parent)
    if layout.has_bridge:
        ip("link", "delete", layout.bridge)


def _load_bridge_filter() -> None:
    if not (SYSCTL / BRIDGE_FILTER).exists():
        with contextlib.suppress(FileNotFoundError):
            subprocess.run(["modprobe", "br_netfilter"], check=False, capture_output=True)
    if not (SYSCTL / BRIDGE_FILTER).exists():
        raise ClusterError(
            "the kernel does not filter bridged traffic (module br_netfilter), so Services would not work: "
            "load it on the machine, or use kind"
        )


def ip(*arguments: str) -> str:
    return output(["ip", *arguments])

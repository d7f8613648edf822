"""What a node changes on the machine: a bridge, a few kernel settings, iptables rules. All of it goes back.

The settings' former values are recorded before the first change, so that a `down` after a crash knows them.
"""

import contextlib
import ipaddress
import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from e2e.cluster.errors import ClusterError
from e2e.cluster.files import write_private
from e2e.cluster.network import Network
from e2e.cluster.node import iptables
from e2e.cluster.node.layout import Layout

SYSCTL = Path("/proc/sys")
BRIDGE_FILTER = "net/bridge/bridge-nf-call-iptables"
NEEDED = {"net/ipv4/ip_forward": "1", BRIDGE_FILTER: "1"}
# Set by kubelet and kube-proxy behind our back.
CHANGED_BY_OTHERS = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
    "net/ipv4/conf/all/route_localnet",
)
FIRST_RANGE, LAST_RANGE = 201, 250


def choose_network(occupied: Iterable[ipaddress.IPv4Network]) -> Network:
    """Take the first 10.N.0.0/16 that nothing on this machine routes to."""
    taken = list(occupied)
    for number in range(FIRST_RANGE, LAST_RANGE + 1):
        whole = ipaddress.IPv4Network(f"10.{number}.0.0/16")
        if not any(whole.overlaps(other) for other in taken):
            return Network(address=f"10.{number}.0.1", pods=f"10.{number}.0.0/24", services=f"10.{number}.240.0/20")
    raise ClusterError(f"no free network for pods: 10.{FIRST_RANGE} to 10.{LAST_RANGE} are all routed here")


def occupied_networks() -> list[ipaddress.IPv4Network]:
    routes = json.loads(_ip("-json", "-4", "route", "show", "table", "all"))
    networks = [route["dst"] for route in routes if route["dst"] != "default"]
    with contextlib.suppress(OSError):
        words = [line.split() for line in Path("/etc/resolv.conf").read_text().splitlines()]
        networks += [word[1] for word in words if word[:1] == ["nameserver"] and ":" not in word[1]]
    return [ipaddress.IPv4Network(network, strict=False) for network in networks]


def change_host(layout: Layout, network: Network) -> None:
    _load_bridge_filter()
    if not layout.host_record.exists():
        write_private(layout.host_record, json.dumps(_settings([*NEEDED, *CHANGED_BY_OTHERS])))
    _set(NEEDED)
    _ip("link", "add", layout.bridge, "type", "bridge")
    _ip("address", "add", f"{network.address}/{ipaddress.ip_network(network.pods).prefixlen}", "dev", layout.bridge)
    _ip("link", "set", layout.bridge, "up")
    iptables.restore("iptables", iptables.rules_for(layout.bridge, network.pods))


def restore_host(layout: Layout) -> None:
    iptables.remove_ours()
    if layout.host_record.exists():
        _set(json.loads(layout.host_record.read_text()))
    if layout.has_bridge:
        _ip("link", "delete", layout.bridge)


def _load_bridge_filter() -> None:
    if not (SYSCTL / BRIDGE_FILTER).exists():
        with contextlib.suppress(FileNotFoundError):
            subprocess.run(["modprobe", "br_netfilter"], check=False, capture_output=True)
    if not (SYSCTL / BRIDGE_FILTER).exists():
        raise ClusterError(
            "the kernel does not filter bridged traffic (module br_netfilter), so Services would not work: "
            "load it on the machine, or use kind"
        )


def _settings(names: Iterable[str]) -> dict[str, str]:
    return {name: (SYSCTL / name).read_text().strip() for name in names if (SYSCTL / name).exists()}


def _set(values: Mapping[str, str]) -> None:
    for name, wanted in values.items():
        if _settings([name]).get(name, wanted) != wanted:
            (SYSCTL / name).write_text(wanted)


def _ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ClusterError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout

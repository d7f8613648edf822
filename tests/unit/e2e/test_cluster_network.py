"""Addresses of the local cluster clash with nothing on the machine."""

import socket
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from e2e.cluster import commands
from e2e.cluster.errors import ClusterError
from e2e.cluster.network import LOOPBACK, Network
from e2e.cluster.node.host import choose_network
from e2e.cluster.ports import LOWEST, free_ports

PORTS = {"etcd": 20001, "etcd-peer": 20002, "kube-apiserver": 20003}


def test_pods_services_and_the_bridge_share_one_free_range() -> None:
    assert choose_network([]) == Network(address="10.201.0.1", pods="10.201.0.0/24", services="10.201.240.0/20")


@pytest.mark.parametrize("taken", ["10.201.7.0/24", "10.201.0.0/16", "10.200.0.0/15", "10.201.255.53/32"])
def test_a_range_that_is_routed_already_is_skipped(taken: str) -> None:
    assert choose_network([IPv4Network(taken)]).address == "10.202.0.1"


def test_no_free_range_is_said() -> None:
    with pytest.raises(ClusterError, match="no free network for pods"):
        choose_network([IPv4Network("10.0.0.0/8")])


def test_the_api_is_the_first_address_of_the_services() -> None:
    assert Network(services="10.201.240.0/20").api_service_address == "10.201.240.1"


def test_without_a_node_everything_listens_on_the_loopback_only() -> None:
    pki = Path("/state/pki")
    lines = commands.etcd(pki, Path("/state/etcd"), PORTS) + commands.apiserver(pki, LOOPBACK, PORTS)
    lines += commands.controller_manager(pki, LOOPBACK) + commands.scheduler(pki)
    listening = [line for line in lines if line.startswith(("--bind-address", "--listen-"))]
    assert len(listening) == 3  # etcd for clients and for peers, the API server
    assert all("127.0.0.1" in line for line in listening)
    assert lines.count("--secure-port=0") == 2  # controller manager and scheduler serve nothing


def test_etcd_and_its_peers_ask_for_certificates() -> None:
    line = commands.etcd(Path("/state/pki"), Path("/state/etcd"), PORTS)
    assert {"--client-cert-auth=true", "--peer-client-cert-auth=true"} <= set(line)


def test_ports_are_free_distinct_and_below_those_of_outgoing_connections() -> None:
    ports = free_ports([f"port-{number}" for number in range(20)])
    highest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert len(set(ports.values())) == 20
    assert all(LOWEST <= port < highest for port in ports.values())


def test_a_port_in_use_is_not_given_and_none_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as used, socket.socket() as unused:
        used.bind(("127.0.0.1", 0))
        unused.bind(("127.0.0.1", 0))
        free = unused.getsockname()[1]
        unused.close()
        answers = iter([used.getsockname()[1], free_ports(["given"])["given"], free])
        monkeypatch.setattr("random.SystemRandom.randint", lambda *_: next(answers))
        assert free_ports(["mine"]) == {"mine": free}

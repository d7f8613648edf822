"""Ports of one number that differ in name and protocol: all of them are kept, whatever the content had before."""

from itertools import pairwise
from typing import Any

import pytest

from tests.integration.apply.room import Manifest, Room
from tests.manifests import service, workload

UDP = {"name": "dns", "protocol": "UDP"}
TCP = {"name": "dns-tcp", "protocol": "TCP"}
DEFAULT = {"name": "dns-tcp"}
SCTP = {"name": "dns-sctp", "protocol": "SCTP"}
CONTENTS: dict[str, list[Any]] = {
    "one": [DEFAULT],
    "one more": [UDP, DEFAULT],
    "the same in another order": [TCP, UDP],
    "three": [SCTP, TCP, UDP],
    "another one": [SCTP],
    "names exchanged": [{**UDP, "name": "dns-tcp"}, {**TCP, "name": "dns"}],
}
UPGRADES = list(pairwise([*CONTENTS, "one"]))


def of_container(ports: list[Any]) -> Manifest:
    return workload("d", ports=[{"containerPort": 53, **port} for port in ports])


def of_service(ports: list[Any]) -> Manifest:
    return service("s", ports=[{"port": 53, **port} for port in ports])


def stored(live: Manifest) -> set[tuple[int, str, str]]:
    spec = live["spec"]
    ports = spec["template"]["spec"]["containers"][0]["ports"] if live["kind"] == "Deployment" else spec["ports"]
    return {(port.get("containerPort", port.get("port")), port["name"], port["protocol"]) for port in ports}


@pytest.mark.parametrize("made", [of_container, of_service], ids=["container", "Service"])
@pytest.mark.parametrize(("before", "after"), UPGRADES)
async def test_ports_of_one_number_are_all_kept_by_an_upgrade(room: Room, made: Any, before: str, after: str) -> None:
    old, new = made(CONTENTS[before]), made(CONTENTS[after])
    assert not (await room.installed(old)).warnings
    plan = await room.plan(new)
    assert await room.engine.dry_run(room.target, plan, skip=lambda _change: False) == []
    assert not (await room.installed(new)).warnings
    wanted = {(53, port["name"], port.get("protocol", "TCP")) for port in CONTENTS[after]}
    assert stored(await room.read(new)) == wanted


async def test_of_two_names_for_one_port_the_last_is_kept_and_the_other_told(room: Room) -> None:
    """The API server cannot: for an apply, number and protocol are the key of a port."""
    ports = [{"containerPort": 80, "name": "http"}, {"containerPort": 80, "name": "metrics"}]
    twice = workload("d", ports=ports, readinessProbe={"httpGet": {"port": "http"}})
    (warning,) = (await room.installed(twice)).warnings
    assert "'http' is lost" in warning
    (container,) = (await room.read(twice))["spec"]["template"]["spec"]["containers"]
    assert [(port["containerPort"], port["name"]) for port in container["ports"]] == [(80, "metrics")]
    assert container["readinessProbe"]["httpGet"]["port"] == 80

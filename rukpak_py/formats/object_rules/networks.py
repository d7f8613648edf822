"""Defects of Services, Ingresses and NetworkPolicies."""

import ipaddress
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from rukpak_py.formats import dns
from rukpak_py.formats.object_rules.by_field import cidr, ip_address
from rukpak_py.formats.object_rules.parts import Defect, Part, Sort
from rukpak_py.formats.object_rules.pods import port_reference
from rukpak_py.formats.object_rules.selectors import labels

_Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
_OF_NODES: Final = frozenset({"NodePort", "LoadBalancer"})
_MOST_NAMED_POLICY_TYPES: Final = 2


def service(part: Part) -> Iterator[Defect]:
    kind = part.text("type") or "ClusterIP"
    ports = list(part.entries("ports"))
    if kind == "ExternalName":
        external = part.text("externalName").removesuffix(".")
        if not external:
            yield part.defect(Sort.REQUIRED, "externalName is required with type ExternalName", "externalName")
        for reason in dns.subdomain(external) if external else []:
            yield part.defect(Sort.NAME, f'externalName "{external[:80]}": {reason}', "externalName")
        if part.text("clusterIP") not in {"", "None"}:
            yield part.defect(Sort.UNION, "clusterIP must not be set with type ExternalName", "clusterIP")
    elif not ports and part.text("clusterIP") != "None":
        yield part.defect(Sort.REQUIRED, "ports are required", "ports")
    if kind == "LoadBalancer" and part.text("clusterIP") == "None":
        yield part.defect(Sort.UNION, "clusterIP must not be None with type LoadBalancer", "clusterIP")
    yield from _ports(part, ports, kind)
    yield from labels(part, part.mapping("selector"), "selector")
    if part.text("externalTrafficPolicy") and kind not in _OF_NODES and not part.items("externalIPs"):
        message = "externalTrafficPolicy is for the types NodePort and LoadBalancer"
        yield part.defect(Sort.UNION, message, "externalTrafficPolicy")
    yield from _addresses(part)


def _ports(part: Part, ports: list[tuple[int, dict[str, Any]]], kind: str) -> Iterator[Defect]:
    numbers: dict[tuple[Any, Any], int] = {}
    for index, port in ports:
        name, node_port = port.get("name"), port.get("nodePort")
        if len(ports) > 1 and not name:
            yield part.defect(Sort.REQUIRED, "name is required where there are several ports", "ports", index, "name")
        if node_port and kind not in _OF_NODES:
            yield part.defect(
                Sort.UNION, "nodePort is for the types NodePort and LoadBalancer", "ports", index, "nodePort"
            )
        elif node_port and isinstance(node_port, int):
            key = (node_port, port.get("protocol") or "TCP")
            if numbers.setdefault(key, index) != index:
                message = f"ports[{numbers[key]}] and ports[{index}] have the same nodePort {node_port}"
                yield part.defect(Sort.REPEATED, message, "ports", index, "nodePort")


def _addresses(part: Part) -> Iterator[Defect]:
    cluster_ip = part.text("clusterIP")
    if cluster_ip not in {"", "None"}:
        for reason in ip_address(cluster_ip):
            yield part.defect(Sort.FORM, f'clusterIP "{cluster_ip[:80]}": {reason}, or None', "clusterIP")
    for field, check in (("externalIPs", ip_address), ("loadBalancerSourceRanges", cidr)):
        for index, value in enumerate(part.items(field)):
            for reason in check(value) if isinstance(value, str) else []:
                yield part.defect(Sort.FORM, f'"{value[:80]}": {reason}', field, index)
    if part.text("sessionAffinity") in {"", "None"} and part.mapping("sessionAffinityConfig"):
        message = "sessionAffinityConfig must not be set with sessionAffinity None"
        yield part.defect(Sort.UNION, message, "sessionAffinityConfig")


def service_port(part: Part) -> Iterator[Defect]:
    yield from port_reference(part, "targetPort")


def ingress(part: Part) -> Iterator[Defect]:
    if not part.items("rules") and not part.value.get("defaultBackend"):
        yield part.defect(Sort.REQUIRED, "rules or a defaultBackend are required", "rules")


def ingress_path(part: Part) -> Iterator[Defect]:
    kind, path = part.text("pathType"), part.text("path")
    if kind and kind not in {"Exact", "Prefix", "ImplementationSpecific"}:
        message = f'pathType is "{kind[:60]}", and may be Exact, ImplementationSpecific, Prefix'
        yield part.defect(Sort.CHOICE, message, "pathType")
    elif kind in {"Exact", "Prefix"} and not path.startswith("/"):
        yield part.defect(Sort.FORM, f"path must begin with '/' with pathType {kind}", "path")
    elif path and not path.startswith("/"):
        yield part.defect(Sort.FORM, "path must begin with '/'", "path")


def policy_peer(part: Part) -> Iterator[Defect]:
    block, others = part.value.get("ipBlock"), ("podSelector", "namespaceSelector")
    given = [one for one in others if part.value.get(one) is not None]
    if block is None and not given:
        message = "one of podSelector, namespaceSelector, ipBlock is required"
        yield part.defect(Sort.UNION, message)
    elif block is not None and given:
        yield part.defect(Sort.UNION, f"ipBlock and {given[0]} exclude each other", "ipBlock")


def ip_block(part: Part) -> Iterator[Defect]:
    try:
        whole = ipaddress.ip_network(part.text("cidr"), strict=False)
    except ValueError:
        return  # told as a wrong form
    for index, value in enumerate(part.items("except")):
        if not isinstance(value, str):
            continue
        for reason in cidr(value):
            yield part.defect(Sort.FORM, f'except "{value[:80]}": {reason}', "except", index)
            break
        else:
            inner = ipaddress.ip_network(value, strict=False)
            if not _is_inside(inner, whole):
                message = f"except {value} must be a range inside of {part.text('cidr')}"
                yield part.defect(Sort.REFERENCE, message, "except", index)


def _is_inside(inner: _Network, whole: _Network) -> bool:
    """Whether it is a smaller range of the same family of addresses."""
    return inner.version == whole.version and inner != whole and inner[0] in whole and inner[-1] in whole


def policy_port(part: Part) -> Iterator[Defect]:
    yield from port_reference(part, "port")
    end, port = part.whole("endPort"), part.value.get("port")
    if end is None:
        return
    if not isinstance(port, int):
        yield part.defect(Sort.UNION, "endPort needs a port that is a number", "endPort")
    elif end < port:
        yield part.defect(Sort.RANGE, f"endPort is {end}, and must not be less than port, which is {port}", "endPort")


def network_policy(part: Part) -> Iterator[Defect]:
    if len(part.items("policyTypes")) > _MOST_NAMED_POLICY_TYPES:
        yield part.defect(Sort.REPEATED, "policyTypes has more than two entries", "policyTypes")

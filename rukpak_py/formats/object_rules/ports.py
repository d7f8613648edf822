"""Rules for names of ports that are used in one place and given in another: probes, Services.

A cluster accepts a name that no container has, and finds no port then. Numbers are not judged: a container may listen
at a port that it does not list.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from rukpak_py.core.findings import Severity
from rukpak_py.formats.json_fields import each, entries, mapping, text
from rukpak_py.formats.object_rules.judged import Judged
from rukpak_py.formats.rules import Family, Problem

FAMILY: Family[Judged] = Family(title="Names of ports", origin="rukpak-py")

TARGET_PORT: Final = "OBJ-015"
TARGET_PORT_HINT: Final = "Name a port in `ports` of a container of the pods, or write the number of the port."
_CALLS: Final = (
    ("startupProbe",),
    ("readinessProbe",),
    ("livenessProbe",),
    ("lifecycle", "postStart"),
    ("lifecycle", "preStop"),
)
_ACTIONS: Final = ("httpGet", "tcpSocket")


@FAMILY.rule(
    "OBJ-014",
    title="A probe calls a port of its container",
    hint="Name a port in `ports` of the same container, or write the number of the port.",
    severity=Severity.WARNING,
)
def probes_call_ports(judged: Judged) -> Iterator[Problem]:
    for pods in judged.pods:
        for origin, container in pods.containers():
            named = {text(one, "name") for _, one in entries(container, "ports")}
            for call in ((*call, action, "port") for call in _CALLS for action in _ACTIONS):
                port = text(container, *call)
                if is_name(port) and port not in named:
                    message = f"{'.'.join(call[:-2])} of container '{text(container, 'name')}' calls the port "
                    message += f"'{port[:80]}', which the container does not have"
                    yield origin.problem(message, *call)


@FAMILY.rule(
    TARGET_PORT,
    title="The targetPort of a Service or webhook is a port of its pods",
    hint=TARGET_PORT_HINT,
    severity=Severity.WARNING,
)
def target_ports_are_ports(judged: Judged) -> Iterator[Problem]:
    """Pods that are not in the bundle may have any port."""
    for service in judged.of_kind("Service"):
        pods = judged.selected(mapping(service.document.manifest, "spec", "selector"), service.namespace)
        for path, port in entries(service.document.manifest, "spec", "ports"):
            target = text(port, "targetPort")
            if pods and is_missing(target, (one.port_names for one in pods)):
                message = f"targetPort '{target[:80]}' is not a port of the pods that the Service selects"
                yield service.origin.problem(message, *path, "targetPort")


@FAMILY.rule(
    "OBJ-026",
    title="A NetworkPolicy allows ports of its pods",
    hint=TARGET_PORT_HINT,
    severity=Severity.WARNING,
)
def policies_allow_ports(judged: Judged) -> Iterator[Problem]:
    for policy in judged.of_kind("NetworkPolicy"):
        selector = mapping(policy.document.manifest, "spec", "podSelector")
        if selector.get("matchExpressions"):
            continue
        pods = judged.selected(mapping(selector, "matchLabels"), policy.namespace)
        for path, allowed in each(policy.document.manifest, "spec.ingress[].ports[]"):
            port = text(allowed, "port")
            if pods and is_missing(port, (one.port_names for one in pods)):
                message = f"port '{port[:80]}' is not a port of the pods that the NetworkPolicy selects"
                yield policy.origin.problem(message, *path, "port")


def is_missing(port: str, known: Iterable[Collection[str]]) -> bool:
    """Whether none of the pods has the port of this name. `known`: the names of each."""
    return is_name(port) and all(port not in names for names in known)


def is_name(port: str) -> bool:
    """Whether it is looked up: a number in quotes is told as a wrong form."""
    return bool(port) and not port.isdecimal()

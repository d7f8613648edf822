"""Defects of pods and their containers."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from rukpak_py.core.findings import Fix
from rukpak_py.formats import dns
from rukpak_py.formats.go_types import quantity
from rukpak_py.formats.object_rules.by_field import ip_address, port_name
from rukpak_py.formats.object_rules.parts import Defect, Part, Sort
from rukpak_py.formats.object_rules.selectors import labels
from rukpak_py.formats.rules import slip_of

_LISTS: Final = ("initContainers", "containers")
_STANDARD: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_HUGE: Final = "hugepages-"
_OF_RUNNING: Final = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
_USERS: Final = 1 << 31
_HIGHEST_PORT: Final = 65535
_SYSCTL: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*")
_FIELDS: Final = frozenset(
    {"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"}
    | {"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"}
)
_FIELDS_OF_FILES: Final = frozenset(
    {"metadata.name", "metadata.namespace", "metadata.uid", "metadata.annotations", "metadata.labels"}
)
_SUBSCRIPTED: Final = re.compile(r"metadata\.(annotations|labels)\['[^']{1,400}'\]")
_CPU_DIVISORS: Final = (Decimal(0), Decimal(1), Decimal("0.001"))
_MOUNTS: Final = (("volumeMounts", "a mount"), ("volumeDevices", "a device"))


def pod(part: Part) -> Iterator[Defect]:
    if part.around is None or part.around.struct in {"PodTemplateSpec", "Pod"}:
        yield from _containers(part)
        yield from _volumes(part)
    if part.text("dnsPolicy") == "None" and not part.mapping("dnsConfig").get("nameservers"):
        yield part.defect(Sort.REQUIRED, "dnsConfig.nameservers are required with dnsPolicy None", "dnsPolicy")
    yield from labels(part, part.mapping("nodeSelector"), "nodeSelector")
    yield from _init_containers(part)
    yield from _claims(part)
    if part.value.get("hostNetwork") is True:
        yield from _host_ports(part)


def _containers(part: Part) -> Iterator[Defect]:
    seen: dict[str, str] = {}
    for field in _LISTS:
        for index, container in part.entries(field):
            name = container.get("name")
            if not isinstance(name, str) or not name:
                continue
            first = seen.setdefault(name, field)
            if first != field:  # within one list the key tells
                message = f"the container name {name} is used in {first} and {field}"
                yield part.defect(Sort.REPEATED, message, field, index, "name")


def _init_containers(part: Part) -> Iterator[Defect]:
    for index, container in part.entries("initContainers"):
        for field in _OF_RUNNING if container.get("restartPolicy") != "Always" else ():
            if container.get(field) is not None:
                message = f"{field} is for init containers with restartPolicy: Always"
                yield part.defect(Sort.UNION, message, "initContainers", index, field)


def _claims(part: Part) -> Iterator[Defect]:
    known = part.names("resourceClaims")
    for field in _LISTS:
        for index, container in part.entries(field):
            resources = container.get("resources")
            claims = resources.get("claims") if isinstance(resources, dict) else None
            for number, claim in enumerate(claims if isinstance(claims, list) else []):
                name = claim.get("name") if isinstance(claim, dict) else None
                if isinstance(name, str) and name not in known:
                    message = f"the claim {name[:80]} is none of the pod's resourceClaims"
                    yield part.defect(Sort.REFERENCE, message, field, index, "resources", "claims", number, "name")


def dns_config(part: Part) -> Iterator[Defect]:
    for index, value in enumerate(part.items("nameservers")):
        for reason in ip_address(value) if isinstance(value, str) else []:
            yield part.defect(Sort.FORM, f'nameserver "{value[:80]}": {reason}', "nameservers", index)


def host_alias(part: Part) -> Iterator[Defect]:
    for index, value in enumerate(part.items("hostnames")):
        for reason in dns.subdomain(value) if isinstance(value, str) else []:
            yield part.defect(Sort.NAME, f'hostname "{value[:80]}": {reason}', "hostnames", index)


def pod_security(part: Part) -> Iterator[Defect]:
    for index, group in enumerate(part.items("supplementalGroups")):
        if isinstance(group, int) and not isinstance(group, bool) and not 0 <= group < _USERS:
            message = f"supplementalGroups has {group}, and must have numbers from 0 to {_USERS - 1}"
            yield part.defect(Sort.RANGE, message, "supplementalGroups", index)
    for index, one in part.entries("sysctls"):
        name = one.get("name")
        if isinstance(name, str) and name and not _SYSCTL.fullmatch(name):
            message = f'sysctl "{name[:80]}": must be lower case letters, digits, "-", "_", "." and "/"'
            yield part.defect(Sort.NAME, message, "sysctls", index, "name")


def mount(part: Part) -> Iterator[Defect]:
    if part.text("subPath") and part.text("subPathExpr"):
        yield part.defect(Sort.UNION, "subPath and subPathExpr exclude each other", "subPathExpr")


def field_reference(part: Part) -> Iterator[Defect]:
    path = part.text("fieldPath")
    known = _FIELDS if part.path[-2:-1] == ("valueFrom",) else _FIELDS_OF_FILES
    if not path:
        yield part.defect(Sort.REQUIRED, "fieldPath is required", "fieldPath")
    elif path not in known and not _SUBSCRIPTED.fullmatch(path):
        message = f"fieldPath is \"{path[:80]}\", and may be {', '.join(sorted(known))}, or metadata.labels['KEY']"
        yield part.defect(Sort.CHOICE, message, "fieldPath")


def resource_reference(part: Part) -> Iterator[Defect]:
    resource, divisor = part.text("resource"), amount_of(part.value.get("divisor"))
    kind, _, name = resource.partition(".")
    is_known = kind in {"limits", "requests"} and (name in _STANDARD or name.startswith(_HUGE))
    if resource and not is_known:
        message = f'resource is "{resource[:80]}", and may be limits or requests, a dot, and cpu, memory or such'
        yield part.defect(Sort.CHOICE, message, "resource")
    elif name == "cpu" and divisor is not None and divisor not in _CPU_DIVISORS:
        yield part.defect(Sort.CHOICE, f"divisor is {part.value['divisor']}, and may be 1m, 1 for cpu", "divisor")


def _host_ports(part: Part) -> Iterator[Defect]:
    for index, container in part.entries("containers"):
        ports = container.get("ports")
        for number, port in enumerate(ports if isinstance(ports, list) else []):
            found = port.get("hostPort") if isinstance(port, dict) else None
            if found and found != port.get("containerPort"):
                message = f"hostPort is {found}, and must be the containerPort with hostNetwork"
                yield part.defect(Sort.REFERENCE, message, "containers", index, "ports", number, "hostPort")


def _volumes(part: Part) -> Iterator[Defect]:
    """Mounts and devices name volumes of the pod, or claims of its StatefulSet."""
    known = part.names("volumes")
    if (stateful := part.inside("StatefulSetSpec")) is not None:
        templates = stateful.value.get("volumeClaimTemplates")
        for one in templates if isinstance(templates, list) else []:
            metadata = one.get("metadata") if isinstance(one, dict) else None
            name = metadata.get("name") if isinstance(metadata, dict) else None
            known |= {name} if isinstance(name, str) else set()
    for field in _LISTS:
        for index, container in part.entries(field):
            for mounts, what in _MOUNTS:
                listed = container.get(mounts)
                for number, mount in enumerate(listed if isinstance(listed, list) else []):
                    name = mount.get("name") if isinstance(mount, dict) else None
                    if isinstance(mount, dict) and isinstance(name, str | None) and name not in known:
                        message = f"{what} is of the volume {name}, which the pod does not have"
                        message = message if name else f"{what} names no volume"
                        yield part.defect(Sort.REFERENCE, message, field, index, mounts, number, "name")


def container(part: Part) -> Iterator[Defect]:
    if not part.value.get("image"):
        yield part.defect(Sort.REQUIRED, "image is required", "image")
    yield from _security(part)


def _security(part: Part) -> Iterator[Defect]:
    context = part.mapping("securityContext")
    if context.get("allowPrivilegeEscalation") is not False:
        return
    capabilities = context.get("capabilities")
    added = capabilities.get("add") if isinstance(capabilities, dict) else None
    for what, is_so in (
        ("privileged: true", context.get("privileged") is True),
        ("the capability CAP_SYS_ADMIN", isinstance(added, list) and "CAP_SYS_ADMIN" in added),
    ):
        if is_so:
            message = f"allowPrivilegeEscalation: false and {what} exclude each other"
            yield part.defect(Sort.UNION, message, "securityContext", "allowPrivilegeEscalation")


def env_var(part: Part) -> Iterator[Defect]:
    if part.value.get("value") and isinstance(part.value.get("valueFrom"), dict):
        yield part.defect(Sort.UNION, "value and valueFrom exclude each other", "valueFrom")


def probe(part: Part) -> Iterator[Defect]:
    kind = part.path[-1] if part.path else ""
    if kind in {"livenessProbe", "startupProbe"} and (part.whole("successThreshold") or 1) > 1:
        yield part.defect(Sort.RANGE, f"successThreshold must be 1 in a {kind}", "successThreshold")
    if kind == "readinessProbe" and part.value.get("terminationGracePeriodSeconds") is not None:
        message = "terminationGracePeriodSeconds must not be set in a readinessProbe"
        yield part.defect(Sort.UNION, message, "terminationGracePeriodSeconds")


def port_of_action(part: Part) -> Iterator[Defect]:
    """A number, or the name of a port."""
    yield from port_reference(part, "port")


def port_reference(part: Part, field: str) -> Iterator[Defect]:
    value = part.value.get(field)
    if isinstance(value, str) and value:
        for reason in port_name(value):
            yield part.defect(Sort.NAME, f'{field} "{value[:80]}": {reason}', field)
    elif isinstance(value, int) and not isinstance(value, bool) and value and not 1 <= value <= _HIGHEST_PORT:
        yield part.defect(Sort.RANGE, f"{field} is {value}, and must be from 1 to {_HIGHEST_PORT}", field)


def resources(part: Part) -> Iterator[Defect]:
    limits, requests = part.mapping("limits"), part.mapping("requests")
    is_claim = part.inside("PersistentVolumeClaimSpec") is not None or part.struct == "VolumeResourceRequirements"
    for field, found in (("limits", limits), ("requests", requests)):
        for name, value in found.items():
            amount = amount_of(value)
            if not is_claim and (reason := _of_resource(name)):
                near = slip_of(name.lower(), _STANDARD - found.keys(), likeness=0.8)
                message, hint = f'resource "{name[:80]}": {reason}', f"Did you mean `{near}`?" if near else ""
                fix = Fix(text=near) if near else None
                yield part.defect(Sort.NAME, message, field, name, hint=hint, on_key=True, fix=fix)
            if amount is not None and amount < 0:
                yield part.defect(Sort.RANGE, f"{field}.{name} is negative: {value}", field, name)
            elif amount is not None and "/" in name and amount != amount.to_integral_value():
                yield part.defect(Sort.RANGE, f"{field}.{name} is {value}, and must be an integer", field, name)
    for name, value in requests.items():
        wanted, most = amount_of(value), amount_of(limits.get(name))
        if wanted is not None and most is not None and wanted > most and not is_claim:
            message = f"requests.{name} is {value}, more than limits.{name}, which is {limits[name]}"
            yield part.defect(Sort.RANGE, message, "requests", name)
        elif not is_claim and name not in _STANDARD and name not in limits and not _of_resource(name):
            yield part.defect(Sort.REQUIRED, f"limits.{name} is required where requests have it", "requests", name)
        elif not is_claim and "/" in name and wanted != most:
            message = f"requests.{name} is {value}, and must be limits.{name}, which is {limits[name]}"
            yield part.defect(Sort.RANGE, message, "requests", name)


def _of_resource(name: str) -> str:
    if name in _STANDARD or name.startswith(_HUGE):
        return ""
    if "/" not in name:
        return "must be cpu, memory, ephemeral-storage, hugepages-<size>, or have a domain, as example.com/gpu"
    return ", ".join(dns.qualified_name(name))


def amount_of(value: Any) -> Decimal | None:
    """The amount of a quantity; None where it is none, which is told as a wrong type."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return quantity.amount(value)
    except ValueError:
        return None


def empty_dir(part: Part) -> Iterator[Defect]:
    amount = amount_of(part.value.get("sizeLimit"))
    if amount is not None and amount < 0:
        yield part.defect(Sort.RANGE, f"sizeLimit is negative: {part.value['sizeLimit']}", "sizeLimit")


def seccomp(part: Part) -> Iterator[Defect]:
    if part.text("type") == "Localhost" and not part.text("localhostProfile"):
        yield part.defect(Sort.REQUIRED, "localhostProfile is required with type Localhost", "type")
    elif part.text("type") not in {"", "Localhost"} and part.value.get("localhostProfile") is not None:
        yield part.defect(Sort.UNION, "localhostProfile is for the type Localhost only", "localhostProfile")

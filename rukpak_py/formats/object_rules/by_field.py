"""Defects of single fields: numbers out of range, texts of a wrong form, unions with none or several members.

The tables say what the API server's validation code says.
"""

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rukpak_py.formats import dns
from rukpak_py.formats.go_types.markers import markers
from rukpak_py.formats.object_rules.cel import problem_of_expression
from rukpak_py.formats.object_rules.parts import Defect, Part, Sort

_PORT: Final = (1, 65535)
_NOT_NEGATIVE: Final = (0, None)
_POSITIVE: Final = (1, None)
_USER: Final = (0, 2**31 - 1)
_MODE: Final = (0, 0o777)
# Zero of a field that is left out when empty means that it is absent.
_ABSENT_AT_ZERO: Final = frozenset({("ContainerPort", "hostPort"), ("ServicePort", "nodePort")})

RANGES: Final[Mapping[tuple[str, str], tuple[int, int | None]]] = {
    ("ContainerPort", "containerPort"): _PORT,
    ("ContainerPort", "hostPort"): _PORT,
    ("ServicePort", "port"): _PORT,
    ("ServicePort", "nodePort"): _PORT,
    ("ServiceBackendPort", "number"): (0, 65535),
    ("NetworkPolicyPort", "endPort"): _PORT,
    ("GRPCAction", "port"): _PORT,
    ("Probe", "initialDelaySeconds"): _NOT_NEGATIVE,
    ("Probe", "timeoutSeconds"): _NOT_NEGATIVE,
    ("Probe", "periodSeconds"): _NOT_NEGATIVE,
    ("Probe", "successThreshold"): _NOT_NEGATIVE,
    ("Probe", "failureThreshold"): _NOT_NEGATIVE,
    ("Probe", "terminationGracePeriodSeconds"): _POSITIVE,
    ("PodSpec", "activeDeadlineSeconds"): _POSITIVE,
    ("SecurityContext", "runAsUser"): _USER,
    ("SecurityContext", "runAsGroup"): _USER,
    ("PodSecurityContext", "runAsUser"): _USER,
    ("PodSecurityContext", "runAsGroup"): _USER,
    ("PodSecurityContext", "fsGroup"): _USER,
    ("ConfigMapVolumeSource", "defaultMode"): _MODE,
    ("SecretVolumeSource", "defaultMode"): _MODE,
    ("ProjectedVolumeSource", "defaultMode"): _MODE,
    ("DownwardAPIVolumeSource", "defaultMode"): _MODE,
    ("KeyToPath", "mode"): _MODE,
    ("DownwardAPIVolumeFile", "mode"): _MODE,
    ("ServiceAccountTokenProjection", "expirationSeconds"): (600, 1 << 32),
    ("PreferredSchedulingTerm", "weight"): (1, 100),
    ("WeightedPodAffinityTerm", "weight"): (1, 100),
    ("TopologySpreadConstraint", "maxSkew"): _POSITIVE,
    ("TopologySpreadConstraint", "minDomains"): _POSITIVE,
    ("DeploymentSpec", "replicas"): _NOT_NEGATIVE,
    ("DeploymentSpec", "minReadySeconds"): _NOT_NEGATIVE,
    ("DeploymentSpec", "revisionHistoryLimit"): _NOT_NEGATIVE,
    ("DeploymentSpec", "progressDeadlineSeconds"): _POSITIVE,
    ("StatefulSetSpec", "replicas"): _NOT_NEGATIVE,
    ("StatefulSetSpec", "minReadySeconds"): _NOT_NEGATIVE,
    ("StatefulSetSpec", "revisionHistoryLimit"): _NOT_NEGATIVE,
    ("RollingUpdateStatefulSetStrategy", "partition"): _NOT_NEGATIVE,
    ("DaemonSetSpec", "minReadySeconds"): _NOT_NEGATIVE,
    ("DaemonSetSpec", "revisionHistoryLimit"): _NOT_NEGATIVE,
    ("ReplicaSetSpec", "replicas"): _NOT_NEGATIVE,
    ("ReplicaSetSpec", "minReadySeconds"): _NOT_NEGATIVE,
    ("ReplicationControllerSpec", "replicas"): _NOT_NEGATIVE,
    ("JobSpec", "parallelism"): _NOT_NEGATIVE,
    ("JobSpec", "completions"): _NOT_NEGATIVE,
    ("JobSpec", "backoffLimit"): _NOT_NEGATIVE,
    ("JobSpec", "activeDeadlineSeconds"): _NOT_NEGATIVE,
    ("JobSpec", "ttlSecondsAfterFinished"): _NOT_NEGATIVE,
    ("CronJobSpec", "startingDeadlineSeconds"): _NOT_NEGATIVE,
    ("CronJobSpec", "successfulJobsHistoryLimit"): _NOT_NEGATIVE,
    ("CronJobSpec", "failedJobsHistoryLimit"): _NOT_NEGATIVE,
    ("autoscaling.v1.HorizontalPodAutoscalerSpec", "minReplicas"): _POSITIVE,
    ("autoscaling.v1.HorizontalPodAutoscalerSpec", "maxReplicas"): _POSITIVE,
    ("autoscaling.v1.HorizontalPodAutoscalerSpec", "targetCPUUtilizationPercentage"): _POSITIVE,
    ("autoscaling.v2.HorizontalPodAutoscalerSpec", "minReplicas"): _POSITIVE,
    ("autoscaling.v2.HorizontalPodAutoscalerSpec", "maxReplicas"): _POSITIVE,
    ("MetricTarget", "averageUtilization"): _POSITIVE,
    ("HPAScalingRules", "stabilizationWindowSeconds"): (0, 3600),
    ("HPAScalingPolicy", "value"): _POSITIVE,
    ("HPAScalingPolicy", "periodSeconds"): (1, 1800),
    ("ValidatingWebhook", "timeoutSeconds"): (1, 30),
    ("MutatingWebhook", "timeoutSeconds"): (1, 30),
    ("ClientIPConfig", "timeoutSeconds"): (1, 86400),
    ("admissionregistration.v1.ServiceReference", "port"): _PORT,
    ("ServiceReference", "port"): _PORT,
    ("SleepAction", "seconds"): _NOT_NEGATIVE,
    ("Endpoints", "port"): _PORT,
}

Reasons: TypeAlias = Callable[[str], list[str]]
_ENV_NAME: Final = re.compile(r"[\x20-\x3c\x3e-\x7e]+")
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_PORT_NAME: Final = re.compile(r"(?=.{1,15}\Z)(?!.*--)[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_PORT_NAMES: Final = "must be at most 15 lower case letters, digits and `-`, with a letter among them"


def env_name(value: str) -> list[str]:
    return [] if _ENV_NAME.fullmatch(value) else ["must consist of printable ASCII characters other than '='"]


def config_key(value: str) -> list[str]:
    if value in {".", ".."} or value.startswith(".."):
        return [f"must not be or begin with '{value[:2]}'"]
    return [] if _KEY.fullmatch(value) else ["must consist of letters, digits, '-', '_' and '.', at most 253"]


def port_name(value: str) -> list[str]:
    is_valid = _PORT_NAME.fullmatch(value) and any("a" <= one <= "z" for one in value)
    return [] if is_valid else [_PORT_NAMES]


def ip_address(value: str) -> list[str]:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return ["must be an IP address, as 10.9.8.7 or 2001:db8::ffff"]
    return []


def cidr(value: str) -> list[str]:
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        return ["must be a range of IP addresses, as 10.9.8.0/24 or 2001:db8::/64"]
    return [] if "/" in value else ["must be a range of IP addresses, as 10.9.8.0/24 or 2001:db8::/64"]


def absolute_path(value: str) -> list[str]:
    return [] if value.startswith("/") else ["must be an absolute path"]


def path_inside(value: str) -> list[str]:
    if value.startswith("/"):
        return ["must be a relative path"]
    return ["must not contain '..'"] if ".." in value.split("/") else []


def path_without_up(value: str) -> list[str]:
    return ["must not contain '..'"] if ".." in value.split("/") else []


def image(value: str) -> list[str]:
    return ["must not have leading or trailing whitespace"] if value != value.strip() else []


def https_url(value: str) -> list[str]:
    try:
        url = urlsplit(value)
    except ValueError:
        return ["must be a URL"]
    if url.scheme != "https":
        return ["must begin with https://"]
    if not url.hostname:
        return ["must name a host"]
    return ["must not have a query, a fragment or a user"] if url.query or url.fragment or url.username else []


def resource_path(value: str) -> list[str]:
    """Path of a webhook's service."""
    if not value.startswith("/"):
        return ["must begin with '/'"]
    steps = value[1:].removesuffix("/").split("/") if value != "/" else []
    return ["must not have empty steps"] if "" in steps else []


def host(value: str) -> list[str]:
    """Host of an Ingress."""
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return dns.subdomain(value.removeprefix("*."))
    return ["must be a DNS name, not an IP address"]


def expression(value: str) -> list[str]:
    """An expression of CEL."""
    problem = problem_of_expression(value)
    return [problem] if problem else []


def time_zone(value: str) -> list[str]:
    if value.lower() == "local":
        return ["must be a time zone, not Local"]
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ["must be a time zone of the IANA, as Europe/Berlin"]
    return []


FORMS: Final[Mapping[tuple[str, str], tuple[Sort, Reasons]]] = {
    ("Container", "name"): (Sort.NAME, dns.label),
    ("Container", "image"): (Sort.FORM, image),
    ("Volume", "name"): (Sort.NAME, dns.label),
    ("EnvVar", "name"): (Sort.NAME, env_name),
    ("ContainerPort", "name"): (Sort.NAME, port_name),
    ("ContainerPort", "hostIP"): (Sort.FORM, ip_address),
    ("ServicePort", "name"): (Sort.NAME, dns.label),
    ("ConfigMapKeySelector", "key"): (Sort.NAME, config_key),
    ("SecretKeySelector", "key"): (Sort.NAME, config_key),
    ("KeyToPath", "path"): (Sort.FORM, path_inside),
    ("DownwardAPIVolumeFile", "path"): (Sort.FORM, path_inside),
    ("VolumeMount", "subPath"): (Sort.FORM, path_without_up),
    ("HostPathVolumeSource", "path"): (Sort.FORM, path_without_up),
    ("PodSpec", "serviceAccountName"): (Sort.NAME, dns.subdomain),
    ("PodSpec", "nodeName"): (Sort.NAME, dns.subdomain),
    ("PodSpec", "hostname"): (Sort.NAME, dns.label),
    ("PodSpec", "subdomain"): (Sort.NAME, dns.label),
    ("PodSpec", "priorityClassName"): (Sort.NAME, dns.subdomain),
    ("PodSpec", "runtimeClassName"): (Sort.NAME, dns.subdomain),
    ("HostAlias", "ip"): (Sort.FORM, ip_address),
    ("IPBlock", "cidr"): (Sort.FORM, cidr),
    ("PodAffinityTerm", "topologyKey"): (Sort.NAME, dns.qualified_name),
    ("NodeSelectorRequirement", "key"): (Sort.NAME, dns.qualified_name),
    ("LabelSelectorRequirement", "key"): (Sort.NAME, dns.qualified_name),
    ("Toleration", "key"): (Sort.NAME, dns.qualified_name),
    ("IngressRule", "host"): (Sort.FORM, host),
    ("IngressServiceBackend", "name"): (Sort.NAME, dns.dns_1035_label),
    ("IngressSpec", "ingressClassName"): (Sort.NAME, dns.subdomain),
    ("IngressTLS", "secretName"): (Sort.NAME, dns.subdomain),
    ("MatchCondition", "name"): (Sort.NAME, dns.qualified_name),
    ("MatchCondition", "expression"): (Sort.FORM, expression),
    ("StorageClass", "provisioner"): (Sort.NAME, dns.qualified_name),
    ("CronJobSpec", "timeZone"): (Sort.FORM, time_zone),
    ("admissionregistration.v1.WebhookClientConfig", "url"): (Sort.FORM, https_url),
    ("WebhookClientConfig", "url"): (Sort.FORM, https_url),
    ("admissionregistration.v1.ServiceReference", "path"): (Sort.FORM, resource_path),
    ("ServiceReference", "path"): (Sort.FORM, resource_path),
    ("HTTPHeader", "name"): (Sort.NAME, env_name),
}

# The members of a union; whether one is needed.
UNIONS: Final[Mapping[str, tuple[tuple[str, ...], bool]]] = {
    "Probe": (("exec", "httpGet", "tcpSocket", "grpc"), True),
    "LifecycleHandler": (("exec", "httpGet", "tcpSocket", "sleep"), True),
    "EnvVarSource": (("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"), True),
    "EnvFromSource": (("configMapRef", "secretRef"), True),
    "VolumeProjection": (
        ("secret", "downwardAPI", "configMap", "serviceAccountToken", "clusterTrustBundle", "podCertificate"),
        True,
    ),
    "IngressBackend": (("service", "resource"), True),
    "ServiceBackendPort": (("name", "number"), True),
    "admissionregistration.v1.WebhookClientConfig": (("url", "service"), True),
    "DownwardAPIVolumeFile": (("fieldRef", "resourceFieldRef"), True),
}


def field_defects(part: Part) -> Iterator[Defect]:
    for field, value in part.value.items():
        if (part.struct, field) in RANGES:
            yield from _out_of_range(part, field, value)
        if (part.struct, field) in FORMS and isinstance(value, str) and value:
            sort, reasons = FORMS[part.struct, field]
            for reason in reasons(value):
                yield part.defect(sort, f'{field} "{value[:80]}": {reason}', field)
    if part.struct in UNIONS:
        members, is_needed = UNIONS[part.struct]
        yield from _union(part, members, is_needed=is_needed)
    elif part.struct == "Volume":
        yield from _sources(part)


def _out_of_range(part: Part, field: str, value: Any) -> Iterator[Defect]:
    least, most = RANGES[part.struct, field]
    if not isinstance(value, int) or isinstance(value, bool):
        return
    if value == 0 and (part.struct, field) in _ABSENT_AT_ZERO:
        return
    if value == 0 and field in markers(part.struct).required:
        return  # told as missing
    if value < least or (most is not None and value > most):
        limits = f"from {least} to {most}" if most is not None else f"at least {least}"
        yield part.defect(Sort.RANGE, f"{field} is {value}, and must be {limits}", field)


def _union(part: Part, members: tuple[str, ...], *, is_needed: bool) -> Iterator[Defect]:
    given = [one for one in members if _is_given(part.value.get(one))]
    if len(given) > 1:
        yield part.defect(Sort.UNION, f"{' and '.join(sorted(given))} exclude each other", given[-1])
    elif not given and is_needed:
        yield part.defect(Sort.UNION, f"one of {', '.join(members)} is required")


def _is_given(value: Any) -> bool:
    return value is not None and value != "" and (isinstance(value, bool) or value != 0)


def _sources(part: Part) -> Iterator[Defect]:
    given = [field for field, value in part.value.items() if field != "name" and isinstance(value, dict)]
    if len(given) > 1:
        yield part.defect(Sort.UNION, f"{' and '.join(sorted(given))} exclude each other", given[-1])

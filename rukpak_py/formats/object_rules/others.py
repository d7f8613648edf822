"""Defects of the remaining kinds: ConfigMaps, Secrets, autoscalers, budgets, claims, classes, webhooks, limits."""

import base64
import binascii
from collections.abc import Iterator
from typing import Any, Final

import orjson

from rukpak_py.formats import dns
from rukpak_py.formats.object_rules.by_field import config_key
from rukpak_py.formats.object_rules.parts import Defect, Part, Sort
from rukpak_py.formats.object_rules.pods import amount_of
from rukpak_py.formats.object_rules.workloads import share

_LARGEST: Final = 1 << 20
_SECRET_KEYS: Final = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
}
_ACCOUNT: Final = "kubernetes.io/service-account.name"
_METRICS: Final = {
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "External": "external",
}
_TARGETS: Final = {"Utilization": "averageUtilization", "Value": "value", "AverageValue": "averageValue"}
_HIGHEST_USER_PRIORITY: Final = 1_000_000_000
_OF_SYSTEM: Final = frozenset({"system-cluster-critical", "system-node-critical"})
_SIDE_EFFECTS: Final = frozenset({"None", "NoneOnDryRun"})
_REVIEWS: Final = frozenset({"v1", "v1beta1"})
_WEBHOOK_PARTS: Final = 3


def config_map(part: Part) -> Iterator[Defect]:
    data, binary = part.mapping("data"), part.mapping("binaryData")
    yield from _keys(part, "data", "binaryData")
    for key in data.keys() & binary.keys():
        yield part.defect(Sort.REPEATED, f"{key[:80]} is in data and in binaryData", "binaryData", key, on_key=True)
    size = sum(len(one.encode(errors="surrogatepass")) for one in data.values() if isinstance(one, str))
    if size > _LARGEST:
        yield part.defect(Sort.RANGE, f"data has {size} bytes, and may have {_LARGEST}", "data")


def secret(part: Part) -> Iterator[Defect]:
    yield from _keys(part, "data", "stringData")
    kind = part.text("type")
    known = part.mapping("data").keys() | part.mapping("stringData").keys()
    for key in _SECRET_KEYS.get(kind, ()):
        if key not in known:
            yield part.defect(Sort.REQUIRED, f"data.{key} is required with type {kind}", "data")
    if kind == "kubernetes.io/basic-auth" and not known & {"username", "password"}:
        yield part.defect(Sort.REQUIRED, f"username or password is required with type {kind}", "data")
    if kind == "kubernetes.io/service-account-token" and not part.mapping("metadata", "annotations").get(_ACCOUNT):
        message = f"the annotation {_ACCOUNT} is required with type {kind}"
        yield part.defect(Sort.REQUIRED, message, "metadata", "annotations")
    if kind == "kubernetes.io/dockerconfigjson" and ".dockerconfigjson" in known and not _is_json(part):
        message = ".dockerconfigjson must be JSON"
        yield part.defect(Sort.FORM, message, "data")


def _is_json(part: Part) -> bool:
    text = part.mapping("stringData").get(".dockerconfigjson")
    encoded = part.mapping("data").get(".dockerconfigjson")
    if not isinstance(text, str) and not isinstance(encoded, str):
        return True  # a wrong type is told
    try:
        orjson.loads(text if isinstance(text, str) else base64.b64decode(str(encoded)))
    except (ValueError, binascii.Error):
        return False
    return True


def _keys(part: Part, *fields: str) -> Iterator[Defect]:
    for field in fields:
        for key in part.mapping(field):
            for reason in config_key(key):
                yield part.defect(Sort.NAME, f'key "{key[:80]}": {reason}', field, key, on_key=True)


def autoscaler(part: Part) -> Iterator[Defect]:
    least, most = part.whole("minReplicas"), part.whole("maxReplicas")
    if least is not None and most is not None and most > 0 and most < least:
        message = f"maxReplicas is {most}, and must not be less than minReplicas, which is {least}"
        yield part.defect(Sort.RANGE, message, "maxReplicas")


def metric(part: Part) -> Iterator[Defect]:
    kind = part.text("type")
    if kind and kind not in _METRICS:
        message = f'type is "{kind[:60]}", and may be {", ".join(sorted(_METRICS))}'
        yield part.defect(Sort.CHOICE, message, "type")
    elif kind:
        needed = _METRICS[kind]
        if part.value.get(needed) is None:
            yield part.defect(Sort.REQUIRED, f"{needed} is required with type {kind}", needed)
        for other in _METRICS.values():
            if other != needed and part.value.get(other) is not None:
                yield part.defect(Sort.UNION, f"{other} must not be set with type {kind}", other)


def metric_target(part: Part) -> Iterator[Defect]:
    kind = part.text("type")
    if kind and kind not in _TARGETS:
        message = f'type is "{kind[:60]}", and may be {", ".join(sorted(_TARGETS))}'
        yield part.defect(Sort.CHOICE, message, "type")
    if all(part.value.get(one) is None for one in _TARGETS.values()):
        yield part.defect(Sort.REQUIRED, f"one of {', '.join(_TARGETS.values())} is required")


def disruption_budget(part: Part) -> Iterator[Defect]:
    least, most = part.value.get("minAvailable"), part.value.get("maxUnavailable")
    if least is not None and most is not None:
        yield part.defect(Sort.UNION, "maxUnavailable and minAvailable exclude each other", "maxUnavailable")
    yield from share(part, least, "minAvailable")
    yield from share(part, most, "maxUnavailable")


def claim(part: Part) -> Iterator[Defect]:
    if not part.items("accessModes"):
        yield part.defect(Sort.REQUIRED, "accessModes are required", "accessModes")
    if "ReadWriteOncePod" in part.items("accessModes") and len(part.items("accessModes")) > 1:
        yield part.defect(Sort.UNION, "ReadWriteOncePod excludes other access modes", "accessModes")
    size = part.mapping("resources", "requests").get("storage")
    amount = amount_of(size)
    if size is None:
        message = "resources.requests.storage is required"
        yield part.defect(Sort.REQUIRED, message, "resources", "requests", "storage")
    elif amount == 0:
        message = "resources.requests.storage must be more than 0"
        yield part.defect(Sort.RANGE, message, "resources", "requests", "storage")


def priority_class(part: Part) -> Iterator[Defect]:
    value = part.whole("value") or 0
    name = part.mapping("metadata").get("name")
    if isinstance(name, str) and name.startswith("system-") and name not in _OF_SYSTEM:
        yield part.defect(Sort.NAME, "names that begin with system- are reserved", "metadata", "name")
    elif value > _HIGHEST_USER_PRIORITY and not str(name).startswith("system-"):
        yield part.defect(Sort.RANGE, f"value is {value}, and may be at most {_HIGHEST_USER_PRIORITY}", "value")


def webhook(part: Part) -> Iterator[Defect]:
    name, effects = part.text("name"), part.text("sideEffects")
    if name and (reasons := dns.subdomain(name)):
        yield part.defect(Sort.NAME, f'name "{name[:80]}": {reasons[0]}', "name")
    elif name and len(name.split(".")) < _WEBHOOK_PARTS:
        message = f'name "{name[:80]}" must be a domain of at least three parts, as one.example.com'
        yield part.defect(Sort.NAME, message, "name")
    if effects and effects not in _SIDE_EFFECTS:
        message = f'sideEffects is "{effects[:60]}", and may be None, NoneOnDryRun'
        yield part.defect(Sort.CHOICE, message, "sideEffects")
    versions = part.items("admissionReviewVersions")
    if versions and not _REVIEWS.intersection(one for one in versions if isinstance(one, str)):
        message = "admissionReviewVersions must have v1 or v1beta1"
        yield part.defect(Sort.CHOICE, message, "admissionReviewVersions")


def webhook_rule(part: Part) -> Iterator[Defect]:
    for field in ("operations", "apiGroups", "apiVersions", "resources"):
        values = part.items(field)
        if not values:
            yield part.defect(Sort.REQUIRED, f"{field} are required", field)
        elif field == "resources":
            yield from _wildcards(part, values)
        elif "*" in values and len(values) > 1:
            message = f"{field} has * beside other values"
            yield part.defect(Sort.REPEATED, message, field)


def _wildcards(part: Part, values: list[Any]) -> Iterator[Defect]:
    plain = [one for one in values if isinstance(one, str) and "/" not in one]
    if "*/*" in values and len(values) > 1:
        yield part.defect(Sort.REPEATED, "resources has */* beside other values", "resources")
    elif "*" in values and len(plain) > 1:
        yield part.defect(Sort.REPEATED, "resources has * beside other resources", "resources")


def limit_range_item(part: Part) -> Iterator[Defect]:
    for lower, upper in (("min", "max"), ("min", "default"), ("defaultRequest", "default"), ("default", "max")):
        small, large = part.mapping(lower), part.mapping(upper)
        for name in small.keys() & large.keys():
            least, most = amount_of(small[name]), amount_of(large[name])
            if least is not None and most is not None and least > most:
                message = f"{lower}.{name} is {small[name]}, more than {upper}.{name}, which is {large[name]}"
                yield part.defect(Sort.RANGE, message, lower, name)


def hard_limits(part: Part) -> Iterator[Defect]:
    for name, value in part.mapping("hard").items():
        amount: Any = amount_of(value)
        if amount is not None and amount < 0:
            yield part.defect(Sort.RANGE, f"hard.{name} is negative: {value}", "hard", name)


def storage_class(part: Part) -> Iterator[Defect]:
    if part.text("reclaimPolicy") == "Recycle":
        yield part.defect(Sort.CHOICE, "reclaimPolicy may be Delete, Retain", "reclaimPolicy")

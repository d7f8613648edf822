"""The unions of built-in kinds: fields of which at most one may be set, or that need a value of another field.

Only those are here whose holder is reached by fields, and by lists whose items have a name: an atomic list is replaced
as a whole, so whatever it holds is switched by any apply.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rukpak_py.apply.field_paths import name_of
from rukpak_py.apply.field_sets import FieldSet
from rukpak_py.apply.normalise.lists import POD_SPEC_PATHS
from rukpak_py.core.objects import ADMISSION_GROUP, GroupKind

EACH = "[]"  # in a path: each item of the list, by its name
NAME = "name"


@dataclass(frozen=True, kw_only=True, slots=True)
class Holder:
    """What holds a union: in the content (empty where it has none), in the live object, and whose fields of it are."""

    wanted: Mapping[str, Any]
    live: Mapping[str, Any]
    ours: FieldSet
    others: FieldSet


@dataclass(frozen=True, kw_only=True, slots=True)
class OneOf:
    """At most one of `members` is set. None: every field of the holder but its name is one."""

    members: frozenset[str] | None

    def excluded(self, holder: Holder) -> set[str]:
        wanted = self._members(holder.wanted)
        rivals = self._members(holder.live) - wanted
        if any(_is_set(holder.wanted[name]) for name in wanted):
            return rivals
        return {name for name in rivals if name_of(name) in holder.ours}  # dropped: what others set in it goes too

    def _members(self, fields: Mapping[str, Any]) -> set[str]:
        return {name for name in fields if (name != NAME if self.members is None else name in self.members)}


@dataclass(frozen=True, kw_only=True, slots=True)
class ByType:
    """Each member is for one value of `field` alone.

    Where the content leaves the type open, the default counts, which comes back with the apply; but where another
    manager owns the type, it stays as it is.
    """

    field: str
    members: Mapping[str, str]  # the value for which it may be set
    default: str = ""  # empty: nothing is known where the content leaves the type open

    def excluded(self, holder: Holder) -> set[str]:
        value = holder.wanted.get(self.field)
        if not value and name_of(self.field) not in holder.others:
            value = self.default
        rivals = {name for name, needed in self.members.items() if value and value != needed}
        return rivals & holder.live.keys() - holder.wanted.keys()


@dataclass(frozen=True, kw_only=True, slots=True)
class Needs:
    """`members` may be set only beside `field`, which brings its own."""

    field: str
    members: frozenset[str]

    def excluded(self, holder: Holder) -> set[str]:
        if self.field in holder.wanted:
            return set()
        return {self.field, *self.members} & holder.live.keys() - holder.wanted.keys()


@dataclass(frozen=True, kw_only=True, slots=True)
class Union:
    path: tuple[str, ...]
    rule: OneOf | ByType | Needs


def unions_of(kind: GroupKind) -> tuple[Union, ...]:
    return _UNIONS.get(kind, ())


def _is_set(value: Any) -> bool:
    """Zero and an empty mapping choose a member; what is false or blank is as if it was not there."""
    return value is not None and value is not False and value != ""


def _one_of(*members: str) -> OneOf:
    return OneOf(members=frozenset(members))


def _by_type(field: str, default: str = "", /, **members: str) -> ByType:
    return ByType(field=field, default=default, members=members)


_ANY_BUT_NAME = OneOf(members=None)
_HANDLERS = _one_of("exec", "grpc", "httpGet", "sleep", "tcpSocket")
_ADDRESS = _one_of("service", "url")
_PROFILE = _by_type("type", localhostProfile="Localhost")
_PROFILES = ("appArmorProfile", "seccompProfile")
_HANDLED = (
    ("livenessProbe",),
    ("readinessProbe",),
    ("startupProbe",),
    ("lifecycle", "postStart"),
    ("lifecycle", "preStop"),
)


def _of_containers(path: tuple[str, ...]) -> list[Union]:
    env = (*path, "env", EACH)
    return [
        *(Union(path=(*path, *handled), rule=_HANDLERS) for handled in _HANDLED),
        *(Union(path=(*path, "securityContext", profile), rule=_PROFILE) for profile in _PROFILES),
        Union(path=env, rule=_one_of("value", "valueFrom")),
        Union(path=(*env, "valueFrom"), rule=_ANY_BUT_NAME),
    ]


def _of_pods(path: tuple[str, ...]) -> list[Union]:
    return [
        Union(path=(*path, "volumes", EACH), rule=_ANY_BUT_NAME),
        *(Union(path=(*path, "securityContext", profile), rule=_PROFILE) for profile in _PROFILES),
        *_of_containers((*path, "containers", EACH)),
        *_of_containers((*path, "initContainers", EACH)),
    ]


_INDEXED = _by_type(
    "completionMode",
    "NonIndexed",
    backoffLimitPerIndex="Indexed",
    maxFailedIndexes="Indexed",
    successPolicy="Indexed",
)
_WEBHOOKS = Union(path=("webhooks", EACH, "clientConfig"), rule=_ADDRESS)
_OF_KINDS: dict[GroupKind, list[Union]] = {
    GroupKind("apps", "Deployment"): [
        Union(path=("spec", "strategy"), rule=_by_type("type", "RollingUpdate", rollingUpdate="RollingUpdate"))
    ],
    GroupKind("apps", "StatefulSet"): [
        Union(path=("spec", "updateStrategy"), rule=_by_type("type", "RollingUpdate", rollingUpdate="RollingUpdate"))
    ],
    GroupKind("batch", "CronJob"): [Union(path=("spec", "jobTemplate", "spec"), rule=_INDEXED)],
    GroupKind("batch", "Job"): [Union(path=("spec",), rule=_INDEXED)],
    GroupKind("", "Service"): [
        Union(path=("spec",), rule=_by_type("type", "ClusterIP", loadBalancerSourceRanges="LoadBalancer"))
    ],
    GroupKind("networking.k8s.io", "Ingress"): [
        Union(path=("spec", "defaultBackend"), rule=_one_of("resource", "service"))
    ],
    GroupKind("policy", "PodDisruptionBudget"): [Union(path=("spec",), rule=_one_of("maxUnavailable", "minAvailable"))],
    GroupKind(ADMISSION_GROUP, "MutatingWebhookConfiguration"): [_WEBHOOKS],
    GroupKind(ADMISSION_GROUP, "ValidatingWebhookConfiguration"): [_WEBHOOKS],
    GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"): [
        Union(path=("spec", "conversion"), rule=_by_type("strategy", "None", webhook="Webhook")),
        Union(path=("spec", "conversion", "webhook", "clientConfig"), rule=_ADDRESS),
    ],
    GroupKind("apiregistration.k8s.io", "APIService"): [
        Union(path=("spec",), rule=Needs(field="service", members=frozenset({"caBundle", "insecureSkipTLSVerify"}))),
        Union(path=("spec",), rule=_one_of("caBundle", "insecureSkipTLSVerify")),
    ],
    GroupKind("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): [
        Union(path=("spec",), rule=_by_type("type", exempt="Exempt", limited="Limited")),
        Union(path=("spec", "limited", "limitResponse"), rule=_by_type("type", queuing="Queue")),
    ],
}
_UNIONS: Mapping[GroupKind, tuple[Union, ...]] = {
    kind: (*_OF_KINDS.get(kind, ()), *(_of_pods(POD_SPEC_PATHS[kind]) if kind in POD_SPEC_PATHS else ()))
    for kind in _OF_KINDS.keys() | POD_SPEC_PATHS.keys()
}

"""The unions of built-in kinds: fields of which at most one may be set, or that need another field or a value of it.

Only those are here whose holder is reached by fields, and by lists whose items have a name: an atomic list is replaced
as a whole, so whatever it holds is switched by any apply.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rukpak_py.apply.field_paths import FieldSet, name_of
from rukpak_py.apply.normalise.lists import HANDLER_PATHS, POD_SPEC_PATHS, PROBES
from rukpak_py.core.objects import ADMISSION_GROUP, GroupKind

EACH = "[]"  # in a path: each item of the list, by its name
NAME = "name"


@dataclass(frozen=True, kw_only=True, slots=True)
class Holder:
    """A union's holder, in the content (empty where it has none) and in the live object, and whose fields of it are."""

    wanted: Mapping[str, Any]
    live: Mapping[str, Any]
    ours: FieldSet
    others: FieldSet

    def dropped(self, names: Iterable[str]) -> set[str]:
        """The members that are ours, in part at least, and that the content does not have any more."""
        return {name for name in names if name not in self.wanted and name in self.live and name_of(name) in self.ours}


@dataclass(frozen=True, kw_only=True, slots=True)
class OneOf:
    """A union of which at most one of `members` is set. None: every field of the holder but its name is a member."""

    members: frozenset[str] | None

    def excluded(self, holder: Holder) -> set[str]:
        wanted = self._members(holder.wanted)
        if any(_is_set(holder.wanted[name]) for name in wanted):
            return self._members(holder.live) - wanted
        return holder.dropped(self._members(holder.live))

    def _members(self, fields: Mapping[str, Any]) -> set[str]:
        return {name for name in fields if (name != NAME if self.members is None else name in self.members)}


@dataclass(frozen=True, kw_only=True, slots=True)
class ByType:
    """Each member is for some values of `field` alone.

    Where the content leaves the type open, the default counts, which comes back with the apply. A type that another
    manager owns stays, but not where the content has a member that is not for it.
    """

    field: str
    members: Mapping[str, tuple[str, ...]]  # the values for which it may be set
    default: str = ""  # empty: a member may not be set where there is no type

    def excluded(self, holder: Holder) -> set[str]:
        value, rivals = holder.wanted.get(self.field), set[str]()
        if not value:
            if not (self.default or holder.dropped([self.field])):
                return set()
            if any(
                holder.live.get(self.field) not in values
                for name, values in self.members.items()
                if name in holder.wanted
            ):
                rivals = {self.field}
            elif name_of(self.field) in holder.others:
                return set()
            value = self.default
        rivals |= {name for name, values in self.members.items() if value not in values}
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
class Whole:
    """A member that the content drops goes as a whole: what other managers set in it may not be there alone."""

    members: tuple[str, ...]

    def excluded(self, holder: Holder) -> set[str]:
        return holder.dropped(self.members)


@dataclass(frozen=True, kw_only=True, slots=True)
class Union:
    path: tuple[str, ...]
    rule: OneOf | ByType | Needs | Whole


def unions_of(kind: GroupKind) -> tuple[Union, ...]:
    return _UNIONS.get(kind, ())


def _is_set(value: Any) -> bool:
    """Zero and an empty mapping choose a member; what is false or blank is as if it was not there."""
    return value is not None and value is not False and value != ""


def _one_of(*members: str) -> OneOf:
    return OneOf(members=frozenset(members))


def _by_type(field: str, default: str = "", /, **members: str) -> ByType:
    return ByType(
        field=field, default=default, members={name: tuple(values.split()) for name, values in members.items()}
    )


_ANY_BUT_NAME = OneOf(members=None)
_HANDLERS = _one_of("exec", "grpc", "httpGet", "sleep", "tcpSocket")
_ADDRESS = _one_of("service", "url")
_PROFILE = _by_type("type", localhostProfile="Localhost")
_PROFILES = ("appArmorProfile", "seccompProfile")


def _of_containers(path: tuple[str, ...]) -> list[Union]:
    env = (*path, "env", EACH)
    return [
        Union(path=path, rule=Whole(members=PROBES)),
        *(Union(path=(*path, *handled), rule=_HANDLERS) for handled in HANDLER_PATHS),
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
    GroupKind("", "Service"): [
        Union(
            path=("spec",),
            rule=_by_type(
                "type",
                "ClusterIP",
                clusterIP="ClusterIP NodePort LoadBalancer",
                loadBalancerSourceRanges="LoadBalancer",
            ),
        ),
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
        Union(path=("spec", "limited", "limitResponse"), rule=_by_type("type", queuing="Queue")),
    ],
}
_UNIONS: Mapping[GroupKind, tuple[Union, ...]] = {
    kind: (*_OF_KINDS.get(kind, ()), *(_of_pods(POD_SPEC_PATHS[kind]) if kind in POD_SPEC_PATHS else ()))
    for kind in _OF_KINDS.keys() | POD_SPEC_PATHS.keys()
}

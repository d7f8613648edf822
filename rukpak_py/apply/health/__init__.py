"""Whether a live object does what it was made for.

The first rule that decides wins: API services by their own condition; then deletion, a well-known custom resource that
is to rest, a generation that was not observed yet, the conditions Reconciling and Stalled; then the rule of the kind,
or the condition Ready for kinds that have none. The texts are upstream's: users match on them. What is known of the
cause comes after them.

Nothing that an object holds makes `judge` raise: what cannot be read is in progress, and the message says what is odd.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from rukpak_py.apply.health.causes import cause_among, own_cause, pod_selector
from rukpak_py.apply.health.custom_resources import by_parents, by_rule, is_at_rest
from rukpak_py.apply.health.fields import MalformedStatus, Manifest
from rukpak_py.apply.health.generic import always_current, by_ready_condition, common, is_deleted
from rukpak_py.apply.health.kinds import (
    api_service,
    custom_resource_definition,
    daemon_set,
    deployment,
    job,
    persistent_volume_claim,
    pod,
    replica_set,
    service,
    stateful_set,
)
from rukpak_py.apply.health.result import CURRENT, Health, HealthStatus, in_progress
from rukpak_py.apply.health.rules import ROUTES, rule_of
from rukpak_py.core.objects import GroupKind, GroupVersionKind, ObjectKey
from rukpak_py.core.text import excerpt

__all__ = [
    "MESSAGE_CHARACTERS",
    "Health",
    "HealthStatus",
    "cause_among",
    "describe",
    "describe_briefly",
    "has_health",
    "judge",
]

_POD = GroupKind("", "Pod")
_API_SERVICE = GroupKind("apiregistration.k8s.io", "APIService")

_RULES: Mapping[GroupKind, Callable[[Manifest], Health]] = {
    GroupKind("", "ConfigMap"): always_current,
    GroupKind("", "PersistentVolumeClaim"): persistent_volume_claim,
    GroupKind("", "Secret"): always_current,
    GroupKind("", "Service"): service,
    GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"): custom_resource_definition,
    GroupKind("apps", "DaemonSet"): daemon_set,
    GroupKind("apps", "Deployment"): deployment,
    GroupKind("apps", "ReplicaSet"): replica_set,
    GroupKind("apps", "StatefulSet"): stateful_set,
    GroupKind("batch", "CronJob"): always_current,
    GroupKind("batch", "Job"): job,
    GroupKind("extensions", "DaemonSet"): daemon_set,
    GroupKind("extensions", "Deployment"): deployment,
    GroupKind("extensions", "ReplicaSet"): replica_set,
    GroupKind("policy", "PodDisruptionBudget"): always_current,
    **dict.fromkeys(ROUTES, by_parents),
}
MESSAGE_CHARACTERS = 1_000  # of what an object says about itself

# Kinds whose metadata alone says all there is to say. Everything else is kept whole.
_WITHOUT_HEALTH = frozenset(
    GroupKind(group, kind)
    for group, kinds in {
        "": (
            "ConfigMap",
            "Endpoints",
            "LimitRange",
            "Namespace",
            "PodTemplate",
            "ResourceQuota",
            "Secret",
            "ServiceAccount",
        ),
        "admissionregistration.k8s.io": (
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ),
        "apps": ("ControllerRevision",),
        "batch": ("CronJob",),
        "coordination.k8s.io": ("Lease",),
        "discovery.k8s.io": ("EndpointSlice",),
        "networking.k8s.io": ("Ingress", "IngressClass", "NetworkPolicy"),
        "node.k8s.io": ("RuntimeClass",),
        "rbac.authorization.k8s.io": ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
        "scheduling.k8s.io": ("PriorityClass",),
        "storage.k8s.io": ("CSIDriver", "StorageClass", "VolumeAttributesClass"),
    }.items()
    for kind in kinds
)


def has_health(gvk: GroupVersionKind) -> bool:
    """Whether the judgement needs more of the object than its metadata."""
    return gvk.group_kind not in _WITHOUT_HEALTH


def judge(obj: Manifest, *, now: datetime | None = None) -> Health:
    """`now` matters to a Pod that is not scheduled; it is the time of the call unless a test says otherwise."""
    kind = _group_kind(obj)
    health = _judge(kind, obj, now)
    if health.status not in {HealthStatus.IN_PROGRESS, HealthStatus.FAILED}:
        return health
    return replace(health, cause=own_cause(kind, obj), pods=pod_selector(kind, obj))


def _judge(kind: GroupKind, obj: Manifest, now: datetime | None) -> Health:
    try:
        if kind == _API_SERVICE:
            return api_service(obj)
        decided, rule = common(obj), rule_of(kind)
        if rule is not None and not is_deleted(obj) and is_at_rest(rule, obj):
            return CURRENT
        if decided is not None:
            return decided
        if kind == _POD:
            return pod(obj, now or datetime.now(UTC))
        if rule is not None:
            return by_rule(rule, obj)
        return _RULES.get(kind, by_ready_condition)(obj)
    except MalformedStatus as odd:
        return in_progress(str(odd))


def describe(key: ObjectKey, health: Health, of_pods: str = "") -> str:
    """The line about an object that is not healthy, upstream's text first. `of_pods`: what its pods say."""
    message = _symptom(health)
    why = message if key.group_kind == _API_SERVICE else f"object {health.status}: {message}"
    return "; ".join(part for part in (f"{key}: {why}", health.cause, of_pods) if part)


def describe_briefly(key: ObjectKey, health: Health, of_pods: str = "") -> str:
    """The same for where one line has room: the cause first, and the symptom alone where no cause is known."""
    return f"{key}: {'; '.join(part for part in (of_pods, health.cause) if part) or _symptom(health)}"


def _symptom(health: Health) -> str:
    return " ".join(excerpt(health.message, MESSAGE_CHARACTERS).split())


def _group_kind(obj: Manifest) -> GroupKind:
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    group, _, _ = api_version.rpartition("/") if isinstance(api_version, str) else ("", "", "")
    return GroupKind(group, kind if isinstance(kind, str) else "")

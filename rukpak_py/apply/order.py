"""The order of applying, and its reverse for ordered deletion.

Objects of one phase may be applied at the same time; a phase starts when the one before it is done. Accounts come
before configuration because a token Secret without its account is deleted by the token controller; roles come before
bindings because, under impersonation, the server looks into the role that a binding grants. Webhooks, API services and
custom resources come last: they need the workloads that serve them.
"""

from collections.abc import Mapping
from enum import IntEnum, auto

from rukpak_py.core.objects import ADMISSION_GROUP, RBAC_GROUP, GroupKind, GroupVersionKind


class ApplyPhase(IntEnum):
    NAMESPACES = auto()
    CRDS = auto()
    ACCOUNTS = auto()
    ROLES = auto()
    BINDINGS = auto()
    CONFIG = auto()
    STORAGE = auto()
    SERVICES = auto()
    WORKLOADS = auto()
    WEBHOOKS = auto()
    API_SERVICES = auto()
    CUSTOM_RESOURCES = auto()


# A list and not a suffix: CRDs live in groups like gateway.networking.k8s.io and snapshot.storage.k8s.io.
_BUILTIN_GROUPS = frozenset(
    {
        "",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "apps",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "extensions",
        "flowcontrol.apiserver.k8s.io",
        "internal.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
    }
)

CRD_KIND = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")


# Built-in kinds that stand in no list are configuration: classes, quotas, policies, leases.
_KINDS_OF_PHASE: Mapping[ApplyPhase, tuple[tuple[str, str], ...]] = {
    ApplyPhase.NAMESPACES: (("", "Namespace"),),
    ApplyPhase.CRDS: (CRD_KIND,),
    ApplyPhase.ACCOUNTS: (("", "ServiceAccount"),),
    ApplyPhase.ROLES: ((RBAC_GROUP, "ClusterRole"), (RBAC_GROUP, "Role")),
    ApplyPhase.BINDINGS: ((RBAC_GROUP, "ClusterRoleBinding"), (RBAC_GROUP, "RoleBinding")),
    ApplyPhase.STORAGE: (
        ("storage.k8s.io", "CSIDriver"),
        ("storage.k8s.io", "StorageClass"),
        ("storage.k8s.io", "VolumeAttributesClass"),
        ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"),
    ),
    ApplyPhase.SERVICES: (
        ("", "Service"),
        ("", "Endpoints"),
        ("discovery.k8s.io", "EndpointSlice"),
        ("networking.k8s.io", "Ingress"),
        ("extensions", "Ingress"),
    ),
    ApplyPhase.WORKLOADS: (
        ("", "Pod"),
        ("", "ReplicationController"),
        *((group, kind) for group in ("apps", "extensions") for kind in ("Deployment", "DaemonSet", "ReplicaSet")),
        ("apps", "StatefulSet"),
        ("batch", "Job"),
        ("batch", "CronJob"),
        ("autoscaling", "HorizontalPodAutoscaler"),
    ),
    ApplyPhase.WEBHOOKS: tuple(
        (ADMISSION_GROUP, kind)
        for kind in (
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
        )
    ),
    ApplyPhase.API_SERVICES: (("apiregistration.k8s.io", "APIService"),),
}
_PHASE_OF_KIND = {GroupKind(*kind): phase for phase, kinds in _KINDS_OF_PHASE.items() for kind in kinds}


def is_builtin(group: str) -> bool:
    """Whether the API server itself serves the group. A group of a CRD or of an aggregated API is not."""
    return group in _BUILTIN_GROUPS


def phase_of(gvk: GroupVersionKind, *, custom: bool) -> ApplyPhase:
    """`custom`: the kind is served by a CRD. A kind of an aggregated API waits for its API service just the same."""
    if custom or not is_builtin(gvk.group):
        return ApplyPhase.CUSTOM_RESOURCES
    return _PHASE_OF_KIND.get(gvk.group_kind, ApplyPhase.CONFIG)

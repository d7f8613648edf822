"""Rules of roles that every cluster has, as the API server of Kubernetes 1.35 creates them.

`cluster-admin` allows everything. The server fills `admin`, `edit` and `view` from ClusterRoles with a label: from its
own, which are known here, and from those that others add, which are not. A test compares the table with a real server.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

Json = dict[str, Any]

CLUSTER_ADMIN = "cluster-admin"
EVERYTHING: tuple[Json, ...] = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
)
_READ, _WRITE = "get list watch", "create delete deletecollection patch update"


def _rules(*rows: tuple[str, str, str]) -> tuple[Json, ...]:
    """Groups (`core` is the empty one), resources and verbs of each rule."""
    return tuple(
        {
            "apiGroups": ["" if group == "core" else group for group in groups.split()],
            "resources": resources.split(),
            "verbs": verbs.split(),
        }
        for groups, resources, verbs in rows
    )


_VIEW = _rules(
    (
        "core",
        (
            "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers "
            "replicationcontrollers/scale serviceaccounts services services/status"
        ),
        _READ,
    ),
    (
        "core",
        (
            "bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas "
            "resourcequotas/status"
        ),
        _READ,
    ),
    ("core", "namespaces", _READ),
    ("core events.k8s.io", "events", _READ),
    ("discovery.k8s.io", "endpointslices", _READ),
    (
        "apps",
        (
            "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status "
            "replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status"
        ),
        _READ,
    ),
    ("autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status", _READ),
    ("batch", "cronjobs cronjobs/status jobs jobs/status", _READ),
    (
        "extensions",
        (
            "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status "
            "networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale"
        ),
        _READ,
    ),
    ("policy", "poddisruptionbudgets poddisruptionbudgets/status", _READ),
    ("networking.k8s.io", "ingresses ingresses/status networkpolicies", _READ),
    ("resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates", _READ),
)
_EDIT = _rules(
    ("core", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy", _READ),
    ("core", "serviceaccounts", "impersonate"),
    ("core", "pods pods/attach pods/exec pods/portforward pods/proxy", _WRITE),
    ("core", "pods/eviction", "create"),
    (
        "core",
        (
            "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets "
            "serviceaccounts services services/proxy"
        ),
        _WRITE,
    ),
    ("core", "serviceaccounts/token", "create"),
    ("core events.k8s.io", "events", _WRITE),
    (
        "apps",
        (
            "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets "
            "statefulsets/scale"
        ),
        _WRITE,
    ),
    ("autoscaling", "horizontalpodautoscalers", _WRITE),
    ("batch", "cronjobs jobs", _WRITE),
    (
        "extensions",
        (
            "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets "
            "replicasets/scale replicationcontrollers/scale"
        ),
        _WRITE,
    ),
    ("policy", "poddisruptionbudgets", _WRITE),
    ("networking.k8s.io", "ingresses networkpolicies", _WRITE),
    ("coordination.k8s.io", "leases", f"{_READ} {_WRITE}"),
    ("resource.k8s.io", "resourceclaims resourceclaimtemplates", _WRITE),
)
_ADMIN = _rules(
    ("authorization.k8s.io", "localsubjectaccessreviews", "create"),
    ("rbac.authorization.k8s.io", "rolebindings roles", f"{_READ} {_WRITE}"),
)
AGGREGATED_PARTS: Mapping[str, tuple[Json, ...]] = {
    "system:aggregate-to-view": _VIEW,
    "system:aggregate-to-edit": _EDIT,
    "system:aggregate-to-admin": _ADMIN,
}


class BuiltinRole(NamedTuple):
    rules: tuple[Json, ...]
    may_be_extended: bool  # by ClusterRoles of others that the server adds to it


_ROLES: Mapping[str, BuiltinRole] = {
    CLUSTER_ADMIN: BuiltinRole(EVERYTHING, may_be_extended=False),
    "admin": BuiltinRole((*_ADMIN, *_EDIT, *_VIEW), may_be_extended=True),
    "edit": BuiltinRole((*_EDIT, *_VIEW), may_be_extended=True),
    "view": BuiltinRole(_VIEW, may_be_extended=True),
    "system:auth-delegator": BuiltinRole(
        _rules(
            ("authentication.k8s.io", "tokenreviews", "create"),
            ("authorization.k8s.io", "subjectaccessreviews", "create"),
        ),
        may_be_extended=False,
    ),
}


def builtin_role(kind: str, name: str) -> BuiltinRole | None:
    return _ROLES.get(name) if kind == "ClusterRole" else None

"""Permissions that reach further than they look: what the Kubernetes documentation calls ways to gain privileges.

A permission is called out when it allows one of the listed things on objects of every name. Wildcards are called out as
such; the permission to everything is called out once, and not again as all that it includes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rukpak_py.apply.permissions.permission import ALL, Permission
from rukpak_py.core.objects import ADMISSION_GROUP, RBAC_GROUP

_READ = ("get", "list", "watch")
_WRITE = ("create", "update", "patch")
_DELETE = ("delete", "deletecollection")
_WORKLOADS = (
    ("", "pods"),
    ("", "replicationcontrollers"),
    ("apps", "daemonsets"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("batch", "cronjobs"),
    ("batch", "jobs"),
)
_ROLES = ((RBAC_GROUP, "clusterroles"), (RBAC_GROUP, "roles"))


@dataclass(frozen=True, kw_only=True, slots=True)
class RiskyPermission:
    id: str
    text: str
    verbs: tuple[str, ...]
    resources: tuple[tuple[str, str], ...]
    also_named: bool = False  # a risk even when it is restricted to objects of some names

    def shows_in(self, permission: Permission) -> bool:
        if (permission.name and not self.also_named) or permission.verb not in {ALL, *self.verbs}:
            return False
        return any(
            permission.group in {ALL, group} and _covers(permission.resource, resource)
            for group, resource in self.resources
        )


def _covers(allowed: str, resource: str) -> bool:
    _, slash, below = resource.partition("/")
    return allowed in {ALL, resource} or (bool(slash) and allowed == f"{ALL}/{below}")


RISKY_PERMISSIONS = (
    RiskyPermission(
        id="secrets",
        text="reads every Secret: passwords, keys, tokens of accounts",
        verbs=_READ,
        resources=(("", "secrets"),),
    ),
    RiskyPermission(
        id="escalate",
        text="writes roles with more permissions than it has",
        verbs=("escalate",),
        resources=_ROLES,
        also_named=True,
    ),
    RiskyPermission(
        id="bind", text="grants roles that it does not hold", verbs=("bind",), resources=_ROLES, also_named=True
    ),
    RiskyPermission(
        id="impersonate",
        text="impersonates users, groups or service accounts",
        verbs=("impersonate",),
        resources=(("", "users"), ("", "groups"), ("", "serviceaccounts"), ("authentication.k8s.io", "uids")),
        also_named=True,
    ),
    RiskyPermission(
        id="tokens",
        text="creates tokens of other service accounts",
        verbs=("create",),
        resources=(("", "serviceaccounts/token"),),
    ),
    RiskyPermission(
        id="exec",
        text="runs commands in containers of other pods",
        verbs=("get", *_WRITE),
        resources=(("", "pods/exec"), ("", "pods/attach"), ("", "pods/ephemeralcontainers")),
    ),
    RiskyPermission(
        id="workloads",
        text="runs pods, with any service account and any Secret of their namespace",
        verbs=_WRITE,
        resources=_WORKLOADS,
    ),
    RiskyPermission(
        id="privileged",
        text="lifts restrictions on pods",
        verbs=("use",),
        resources=(("security.openshift.io", "securitycontextconstraints"), ("policy", "podsecuritypolicies")),
        also_named=True,
    ),
    RiskyPermission(
        id="nodes",
        text="reaches the kubelet API: runs commands in every pod of a node",
        verbs=("get", "create"),
        resources=(("", "nodes/proxy"),),
    ),
    RiskyPermission(
        id="volumes",
        text="creates volumes from a node's own files",
        verbs=("create",),
        resources=(("", "persistentvolumes"),),
    ),
    RiskyPermission(
        id="node-objects",
        text="changes nodes: their labels and taints decide where pods run",
        verbs=("update", "patch"),
        resources=(("", "nodes"), ("", "nodes/status")),
    ),
    RiskyPermission(
        id="crds",
        text="changes the schema of other kinds, or deletes them with all their objects",
        verbs=(*_WRITE, *_DELETE),
        resources=(("apiextensions.k8s.io", "customresourcedefinitions"),),
    ),
    RiskyPermission(
        id="policies",
        text="lifts admission policies, or refuses and changes the API requests of others",
        verbs=(*_WRITE, *_DELETE),
        resources=tuple(
            (ADMISSION_GROUP, f"{kind}admissionpolic{end}")
            for kind in ("validating", "mutating")
            for end in ("ies", "ybindings")
        ),
    ),
    RiskyPermission(
        id="webhooks",
        text="reads and changes the API requests of others",
        verbs=_WRITE,
        resources=(
            (ADMISSION_GROUP, "mutatingwebhookconfigurations"),
            (ADMISSION_GROUP, "validatingwebhookconfigurations"),
        ),
    ),
    RiskyPermission(
        id="apiservices",
        text="takes over other APIs",
        verbs=_WRITE,
        resources=(("apiregistration.k8s.io", "apiservices"),),
    ),
    RiskyPermission(
        id="certificates",
        text="approves client certificates",
        verbs=("update", "patch"),
        resources=(("certificates.k8s.io", "certificatesigningrequests/approval"),),
    ),
    RiskyPermission(
        id="namespaces",
        text="labels namespaces, which can switch Pod Security off",
        verbs=("update", "patch"),
        resources=(("", "namespaces"),),
    ),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class PermissionWarning:
    id: str
    text: str
    scope: str
    permissions: list[Permission] = field(default_factory=list)


_ORDER = ["everything", "wildcard", *(risk.id for risk in RISKY_PERMISSIONS)]


def warnings_of(permissions: Iterable[Permission]) -> list[PermissionWarning]:
    """The warnings about risky permissions, each with the permissions that it comes from."""
    found: dict[tuple[str, str], PermissionWarning] = {}
    for permission in sorted(permissions):
        for warning_id, text in _risks_of(permission):
            warning = PermissionWarning(id=warning_id, text=text, scope=permission.scope)
            found.setdefault((warning_id, permission.scope), warning).permissions.append(permission)
    return sorted(found.values(), key=lambda warning: (_ORDER.index(warning.id), warning.scope))


def _risks_of(permission: Permission) -> Iterator[tuple[str, str]]:
    if (permission.verb, permission.group, permission.resource) == (ALL, ALL, ALL):
        yield "everything", "may do everything"
        return
    if permission.has_wildcard:
        yield "wildcard", "has wildcards, which include what will be added later"
    for risk in RISKY_PERMISSIONS:
        if risk.shows_in(permission):
            yield risk.id, risk.text

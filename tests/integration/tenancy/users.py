"""Users of a cluster with tenants: their roles, the accounts that they may impersonate, the Secrets that they may get.

Namespaces end with the mark of their test module. Names of users are those of `USERS`, without it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from rukpak_py.api.names import GROUP, OPERATOR_ACCOUNT
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import NAMESPACES, SERVICE_ACCOUNTS, Resource

Document = dict[str, Any]

RBAC = "rbac.authorization.k8s.io"
TEAMS = ("system", "team-a", "team-b", "gitops")
ACCOUNTS = ("system/" + OPERATOR_ACCOUNT, "team-a/installer", "team-a/builder", "team-b/installer", "gitops/applier")
COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector"
NAMESPACE_CONTROLLER = "system:serviceaccount:kube-system:namespace-controller"
ADMIN = ""  # of the kubeconfig: no policy stops it

ROLES: dict[str, list[tuple[str, str]]] = {  # resources and verbs
    "tenant": [("bundledeployments bundleinstances", "get list watch create update patch delete deletecollection")],
    "approver": [("bundledeployments", "get patch approve"), ("bundleinstances", "get patch")],
    "bundle-maker": [("bundles", "get list create update patch delete")],
    "status-writer": [("bundles/status bundledeployments/status bundleinstances/status", "get update patch")],
    "operator": [("*", "get list watch create update patch delete")],
    "migrator": [("bundledeployments bundles", "get list update patch")],
}


@dataclass(frozen=True, kw_only=True)
class Rights:
    roles: tuple[str, ...]
    impersonate: tuple[str, ...] = ()
    get_secrets: tuple[str, ...] = ()


USERS: dict[str, Rights] = {
    "ada": Rights(roles=("cluster-admin",)),
    "tina": Rights(roles=("tenant",), impersonate=("team-a/installer", "team-a/builder"), get_secrets=("hers",)),
    "tom": Rights(roles=("tenant",)),
    "tess": Rights(roles=("tenant", "approver"), impersonate=("team-a/installer",)),
    "ann": Rights(roles=("approver",)),
    "bob": Rights(roles=("bundle-maker",), get_secrets=("his",)),
    "sue": Rights(roles=("status-writer", "bundle-maker")),
    "oda": Rights(roles=("tenant", "status-writer", "bundle-maker"), impersonate=("system/" + OPERATOR_ACCOUNT,)),
    "mig": Rights(roles=("migrator",)),
    "system/" + OPERATOR_ACCOUNT: Rights(roles=("operator",)),
    "team-a/installer": Rights(roles=("tenant",)),
    "gitops/applier": Rights(roles=("tenant",), impersonate=("team-a/installer",)),
}


def user_name(user: str, mark: str) -> str:
    """`namespace/name` is a service account."""
    namespace, _, name = user.partition("/")
    return f"system:serviceaccount:{namespace}-{mark}:{name}" if name else user


async def make_users(admin: Client, mark: str) -> None:
    for team in TEAMS:
        await _apply(admin, NAMESPACES, "", f"{team}-{mark}", {})
    for account in ACCOUNTS:
        namespace, name = account.split("/")
        await _apply(admin, SERVICE_ACCOUNTS, f"{namespace}-{mark}", name, {})
    for name, rules in ROLES.items():
        body = {"rules": [_rule(GROUP, resources.split(), verbs.split()) for resources, verbs in rules]}
        await _apply(admin, CLUSTER_ROLES, "", f"{name}-{mark}", body)
    for number, (user, rights) in enumerate(USERS.items()):
        for role in rights.roles:
            name = role if role == "cluster-admin" else f"{role}-{mark}"
            body = _bound("ClusterRole", name, user, mark)
            await _apply(admin, CLUSTER_ROLE_BINDINGS, "", f"attempts-{mark}-{number}-{role}", body)
        for namespace, rule in _rules_in_namespaces(rights):
            name = f"user-{number}-{rule['verbs'][0]}-{rule['resourceNames'][0]}"
            await _apply(admin, ROLES_OF_NAMESPACES, f"{namespace}-{mark}", name, {"rules": [rule]})
            body = _bound("Role", name, user, mark)
            await _apply(admin, ROLE_BINDINGS, f"{namespace}-{mark}", name, body)


async def remove_users(admin: Client, mark: str) -> None:
    """Remove the roles and bindings of the whole cluster."""
    for resource in (CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES):
        for one in (await admin.list_metadata(resource)).items:
            if mark in one.metadata.name:
                await admin.delete(resource, "", one.metadata.name)


def _rules_in_namespaces(rights: Rights) -> Iterator[tuple[str, Document]]:
    for account in rights.impersonate:
        namespace, name = account.split("/")
        yield namespace, _rule("", ["serviceaccounts"], ["impersonate"], name)
    for secret in rights.get_secrets:
        yield "system", _rule("", ["secrets"], ["get"], secret)


def _rule(group: str, resources: list[str], verbs: list[str], name: str = "") -> Document:
    named = {"resourceNames": [name]} if name else {}
    return {"apiGroups": [group], "resources": resources, "verbs": verbs, **named}


def _bound(kind: str, role: str, user: str, mark: str) -> Document:
    return {
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user_name(user, mark)}],
    }


async def _apply(admin: Client, resource: Resource, namespace: str, name: str, body: Document) -> None:
    gvk = resource.gvk
    document = {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": {"name": name}, **body}
    if resource.namespaced:
        document["metadata"]["namespace"] = namespace
    await admin.apply(resource, namespace, name, orjson.dumps(document), field_manager="tests", force=True)


def _rbac(kind: str, plural: str, *, namespaced: bool) -> Resource:
    return Resource(gvk=GroupVersionKind(RBAC, "v1", kind), plural=plural, namespaced=namespaced)


CLUSTER_ROLES = _rbac("ClusterRole", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDINGS = _rbac("ClusterRoleBinding", "clusterrolebindings", namespaced=False)
ROLES_OF_NAMESPACES = _rbac("Role", "roles", namespaced=True)
ROLE_BINDINGS = _rbac("RoleBinding", "rolebindings", namespaced=True)

"""Accounts of a tenant and their rights."""

import orjson

from rukpak_py.api.accounts import Account
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import SERVICE_ACCOUNTS, Resource
from tests.manifests import Document

_RBAC = "rbac.authorization.k8s.io"
ROLES = Resource(gvk=GroupVersionKind(_RBAC, "v1", "Role"), plural="roles", namespaced=True)
ROLE_BINDINGS = Resource(gvk=GroupVersionKind(_RBAC, "v1", "RoleBinding"), plural="rolebindings", namespaced=True)
CLUSTER_ROLES = Resource(gvk=GroupVersionKind(_RBAC, "v1", "ClusterRole"), plural="clusterroles", namespaced=False)
CLUSTER_ROLE_BINDINGS = Resource(
    gvk=GroupVersionKind(_RBAC, "v1", "ClusterRoleBinding"), plural="clusterrolebindings", namespaced=False
)
EVERYTHING: Document = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
ALL_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete")


def rule(*resources: str, verbs: tuple[str, ...] = ALL_VERBS, names: tuple[str, ...] = (), group: str = "") -> Document:
    named = {"resourceNames": list(names)} if names else {}
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs), **named}


async def create_account(
    admin: Client, namespace: str, name: str = "installer", *, rules: tuple[Document, ...]
) -> Account:
    """An account that has these rights in its namespace, and no others."""
    await admin.create(SERVICE_ACCOUNTS, namespace, orjson.dumps(_body("ServiceAccount", "v1", name)))
    await grant(admin, Account(namespace, name), rules)
    binding = {
        **_body("RoleBinding", f"{_RBAC}/v1", name),
        "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": name}],
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": name},
    }
    await admin.create(ROLE_BINDINGS, namespace, orjson.dumps(binding))
    return Account(namespace, name)


async def grant(admin: Client, account: Account, rules: tuple[Document, ...]) -> None:
    """From now on the account has these rights in its namespace, and no others."""
    role = {**_body("Role", f"{_RBAC}/v1", account.name), "rules": list(rules)}
    await admin.apply(ROLES, account.namespace, account.name, orjson.dumps(role), field_manager="user", force=True)


async def grant_everywhere(admin: Client, account: Account, rules: tuple[Document, ...]) -> None:
    """Rights in all namespaces, and on what has none."""
    name = f"{account.namespace}-{account.name}"
    role = {**_body("ClusterRole", f"{_RBAC}/v1", name), "rules": list(rules)}
    await admin.apply(CLUSTER_ROLES, "", name, orjson.dumps(role), field_manager="user", force=True)
    binding = {
        **_body("ClusterRoleBinding", f"{_RBAC}/v1", name),
        "subjects": [{"kind": "ServiceAccount", "namespace": account.namespace, "name": account.name}],
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name},
    }
    await admin.apply(CLUSTER_ROLE_BINDINGS, "", name, orjson.dumps(binding), field_manager="user", force=True)


async def revoke_everywhere(admin: Client, account: Account) -> None:
    for resource in (CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES):
        await admin.delete(resource, "", f"{account.namespace}-{account.name}")


def _body(kind: str, api_version: str, name: str) -> Document:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}

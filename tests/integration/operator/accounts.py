"""Accounts with whose rights the deployments of a tenant are served."""

import orjson

from rukpak_py.api.accounts import Account
from rukpak_py.core.objects import RBAC_GROUP, GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import SERVICE_ACCOUNTS, Resource
from tests.integration.operator.tenant import Tenant
from tests.manifests import Document, manifest, service_account

RBAC = f"{RBAC_GROUP}/v1"
ROLES = Resource(gvk=GroupVersionKind(RBAC_GROUP, "v1", "Role"), plural="roles", namespaced=True)
ROLE_BINDINGS = Resource(gvk=GroupVersionKind(RBAC_GROUP, "v1", "RoleBinding"), plural="rolebindings", namespaced=True)
CLUSTER_ROLES = Resource(gvk=GroupVersionKind(RBAC_GROUP, "v1", "ClusterRole"), plural="clusterroles", namespaced=False)
CLUSTER_ROLE_BINDINGS = Resource(
    gvk=GroupVersionKind(RBAC_GROUP, "v1", "ClusterRoleBinding"), plural="clusterrolebindings", namespaced=False
)
NAME = "installer"


async def account_of(tenant: Tenant, name: str = NAME, *, namespace: str = "") -> Account:
    """A new account without any right."""
    account = Account(namespace or tenant.namespace, name)
    body = orjson.dumps(service_account(name, account.namespace))
    await tenant.admin.create(SERVICE_ACCOUNTS, account.namespace, body)
    return account


async def grant(admin: Client, account: Account, role: str, *, namespace: str = "", kind: str = "ClusterRole") -> None:
    """Bind a role to an account: in a namespace, or in the whole cluster."""
    name = f"{account.namespace}-{account.name}-{role}"
    resource = ROLE_BINDINGS if namespace else CLUSTER_ROLE_BINDINGS
    body = binding(name, account, role, namespace=namespace, kind=kind)
    await admin.create(resource, namespace, orjson.dumps(body))


def binding(name: str, account: Account, role: str, *, namespace: str = "", kind: str = "ClusterRole") -> Document:
    return manifest(
        RBAC,
        "RoleBinding" if namespace else "ClusterRoleBinding",
        name,
        namespace,
        roleRef={"apiGroup": RBAC_GROUP, "kind": kind, "name": role},
        subjects=[{"kind": "ServiceAccount", "name": account.name, "namespace": account.namespace}],
    )

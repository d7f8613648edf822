"""Manifests for tests of the command line: RBAC objects in few words."""

from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]
RBAC = "rbac.authorization.k8s.io"


def rule(verbs: str, resources: str = "pods", *, group: str = "", names: Sequence[str] = ()) -> Json:
    made: Json = {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}
    return {**made, "resourceNames": list(names)} if names else made


def role(name: str, *rules: Json, namespace: str = "", labels: dict[str, str] | None = None) -> Json:
    metadata: Json = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = labels
    kind = "Role" if namespace else "ClusterRole"
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": list(rules)}


def binding(
    name: str, role_name: str, *, account: str = "apps/robot", namespace: str = "", kind: str | None = None
) -> Json:
    account_namespace, _, account_name = account.partition("/")
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": {"name": name, "namespace": namespace} if namespace else {"name": name},
        "roleRef": {
            "apiGroup": RBAC,
            "kind": kind or ("Role" if namespace else "ClusterRole"),
            "name": role_name,
        },
        "subjects": [{"kind": "ServiceAccount", "name": account_name, "namespace": account_namespace}],
    }


def manifest(kind: str, name: str, *, api_version: str = "v1", namespace: str = "", **fields: Any) -> Json:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def account(name: str, *, namespace: str = "apps") -> Json:
    return manifest("ServiceAccount", name, namespace=namespace)


def workload(name: str, *, account: str = "", namespace: str = "apps") -> Json:
    """A Deployment whose pods run with the account; empty: they name none."""
    pod = {"containers": [], **({"serviceAccountName": account} if account else {})}
    template = {"spec": pod}
    return manifest("Deployment", name, api_version="apps/v1", namespace=namespace, spec={"template": template})

"""Accounts that have what `rukpakctl bundle permissions` prints for a bundle, and nothing else."""

import asyncio
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import yaml

from e2e.cluster.audit import AuditedRequest, audited
from e2e.cluster.control_plane import ControlPlane
from rukpak_py.core.objects import RBAC_GROUP, GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import CLUSTER_ROLES, NAMESPACES, ROLES, SERVICE_ACCOUNTS, Resource
from tests.integration.operator.tenant import Tenant
from tests.unit.cli.running import program

ACCOUNT = "robot"
RESOURCES: Mapping[str, Resource] = {
    "Namespace": NAMESPACES,
    "ServiceAccount": SERVICE_ACCOUNTS,
    "ClusterRole": CLUSTER_ROLES,
    "Role": ROLES,
    **{
        kind: Resource(gvk=GroupVersionKind(RBAC_GROUP, "v1", kind), plural=f"{kind.lower()}s", namespaced=namespaced)
        for kind, namespaced in (("ClusterRoleBinding", False), ("RoleBinding", True))
    },
}
NO_RIGHT_NEEDED = frozenset({"selfsubjectrulesreviews", "selfsubjectaccessreviews"})


async def printed(tenant: Tenant, path: Path, *options: str) -> list[dict[str, Any]]:
    """Manifests that the command prints for the bundle."""
    return await printed_manifests(path, f"--service-account={tenant.namespace}/{ACCOUNT}", *options)


async def printed_manifests(path: Path, *options: str) -> list[dict[str, Any]]:
    command = [program(), "bundle", "permissions", str(path), "-o", "yaml", *options]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.load_all(done.stdout, yaml.CSafeLoader) if one]


async def grant(admin: Client, manifests: list[dict[str, Any]]) -> None:
    for one in manifests:
        resource, metadata = RESOURCES[one["kind"]], one["metadata"]
        place = metadata.get("namespace", ""), metadata["name"]
        await admin.apply(resource, *place, orjson.dumps(one), field_manager="kubectl", force=True)


async def revoke(admin: Client, manifests: list[dict[str, Any]]) -> None:
    """Delete what has no namespace: nothing of it may be left for other tests."""
    for one in manifests:
        if one["kind"] in {"ClusterRole", "ClusterRoleBinding"}:
            await admin.delete(RESOURCES[one["kind"]], "", one["metadata"]["name"])


def written_bundle(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    if folder.exists():
        shutil.rmtree(folder)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def requests_of(plane: ControlPlane, tenant: Tenant, *, skip: int = 0) -> list[AuditedRequest]:
    """Requests with the rights of the account, but for questions about these rights."""
    user = f"system:serviceaccount:{tenant.namespace}:{ACCOUNT}"
    return [
        one for one in audited(plane.state, skip=skip) if one.account == user and one.resource not in NO_RIGHT_NEEDED
    ]


def refused(requests: list[AuditedRequest]) -> list[str]:
    return [str(one) for one in requests if one.is_forbidden]

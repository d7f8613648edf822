"""`rukpakctl release` on a real API server: which objects are shown, and which kinds are said not to be."""

import asyncio
import json
import os
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rukpak_py.api.names import (
    BUNDLE_DEPLOYMENT_KIND,
    ORDERED_DELETION_FINALIZER,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
    OWNER_UID_ANNOTATION,
)
from rukpak_py.cli.cluster import releasing
from rukpak_py.cli.cluster.releasing import Released
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import (
    BUNDLE_DEPLOYMENTS,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    ROLE_BINDINGS,
    ROLES,
    Resource,
)
from tests.integration.conftest import a_namespace
from tests.integration.definitions import definitions, install
from tests.manifests import config_map, deployment, source
from tests.unit.cli.running import program
from tests.waiting import eventually, until_gone

RBAC = "rbac.authorization.k8s.io"
FOREIGN_CLASS = "example-com-another"  # no operator touches it
Kind = dict[str, Any]
CONFIG_MAP: Kind = {"group": "", "version": "v1", "kind": "ConfigMap"}
GHOST: Kind = {"group": "ghosts.example.com", "version": "v1", "kind": "Ghost"}


@dataclass(kw_only=True)
class Deleted:
    """A BundleDeployment with the finalizer of ordered deletion, and its objects."""

    client: Client
    name: str
    namespace: str
    other: str  # namespace
    uid: str = ""

    async def create(self) -> None:
        body = deployment(self.name, source("content"), installNamespace=self.namespace)
        body["spec"]["provisionerClassName"] = FOREIGN_CLASS
        body["metadata"]["finalizers"] = [ORDERED_DELETION_FINALIZER]
        self.uid = (await self.client.create(BUNDLE_DEPLOYMENTS, "", json.dumps(body).encode())).metadata.uid

    async def has(self, *kinds: Kind) -> None:
        body = json.dumps({"status": {"kinds": list(kinds)}}).encode()
        await self.client.patch_status(BUNDLE_DEPLOYMENTS, "", self.name, body)

    async def owns(self, namespace: str, name: str, *, is_annotated: bool = False) -> None:
        body = config_map(name, namespace)
        metadata = body["metadata"]
        metadata["labels"] = {OWNER_KIND_LABEL: BUNDLE_DEPLOYMENT_KIND, OWNER_NAME_LABEL: self.name}
        if is_annotated:
            metadata["annotations"] = {OWNER_UID_ANNOTATION: self.uid}
        else:
            gvk = BUNDLE_DEPLOYMENTS.gvk
            owner = {"apiVersion": gvk.api_version, "kind": gvk.kind, "name": self.name, "uid": self.uid}
            metadata["ownerReferences"] = [owner | {"controller": True}]
        await self.client.create(CONFIG_MAPS, namespace, json.dumps(body).encode())

    async def user(self, *, lists_in: str) -> Client:
        """A client that may get the BundleDeployment, and list ConfigMaps in this namespace alone."""
        reads = {"apiGroups": [BUNDLE_DEPLOYMENTS.gvk.group], "resources": ["bundledeployments"], "verbs": ["get"]}
        lists = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}
        await self._grant(CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, "", reads)
        await self._grant(ROLES, ROLE_BINDINGS, lists_in, lists)
        return self.client.acting_as(self.name)

    async def _grant(self, role: Resource, binding: Resource, namespace: str, rule: dict[str, Any]) -> None:
        bodies: dict[Resource, dict[str, Any]] = {
            role: {"rules": [rule]},
            binding: {
                "roleRef": {"apiGroup": RBAC, "kind": role.gvk.kind, "name": self.name},
                "subjects": [{"apiGroup": RBAC, "kind": "User", "name": self.name}],
            },
        }
        for resource, body in bodies.items():
            whole = {"apiVersion": resource.gvk.api_version, "kind": resource.gvk.kind, "metadata": {"name": self.name}}
            await self.client.create(resource, namespace, json.dumps(whole | body).encode())

    async def end(self) -> None:
        with suppress(NotFoundError):
            await self.client.patch(BUNDLE_DEPLOYMENTS, "", self.name, b'{"metadata":{"finalizers":null}}')
            await self.client.delete(BUNDLE_DEPLOYMENTS, "", self.name)
        for resource in (CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES):
            with suppress(NotFoundError):
                await self.client.delete(resource, "", self.name)


@pytest.fixture
async def deleted(client: Client, namespace: str) -> AsyncIterator[Deleted]:
    await install(client, definitions())
    async with a_namespace(client) as other:
        found = Deleted(client=client, name=f"r-{uuid.uuid4().hex[:8]}", namespace=namespace, other=other)
        await found.create()
        yield found
        await found.end()


def taken(found: Released) -> set[tuple[str, str]]:
    return {(one.namespace, one.name) for one in found.taken}


async def test_admin_sees_objects_of_all_namespaces_and_which_of_them_stay(deleted: Deleted) -> None:
    await deleted.has(CONFIG_MAP)
    await deleted.owns(deleted.namespace, "a")
    await deleted.owns(deleted.other, "b")
    await deleted.owns(deleted.other, "kept", is_annotated=True)
    found = await releasing.find(deleted.client, deleted.name, deletes=True)
    assert taken(found) == {(deleted.namespace, "a"), (deleted.other, "b")}
    assert [one.command for one in found.left] == [f"kubectl delete configmaps kept --namespace {deleted.other}"]
    assert found.unseen == []


async def test_kind_that_the_server_does_not_show_is_named_and_not_taken_for_gone(deleted: Deleted) -> None:
    await deleted.has(GHOST, CONFIG_MAP)
    await deleted.owns(deleted.namespace, "a")
    found = await releasing.find(deleted.client, deleted.name, deletes=True)
    assert taken(found) == {(deleted.namespace, "a")}
    assert found.unseen == ["Ghost.ghosts.example.com"]


async def test_user_who_may_list_in_one_namespace_sees_its_objects_and_that_there_may_be_others(
    deleted: Deleted,
) -> None:
    await deleted.has(CONFIG_MAP, {"group": "", "version": "v1", "kind": "Secret"})
    await deleted.owns(deleted.namespace, "a")
    await deleted.owns(deleted.other, "b")
    user = await deleted.user(lists_in=deleted.namespace)

    async def look() -> bool:
        """RBAC follows within a moment."""
        with suppress(Exception):
            found = await releasing.find(user, deleted.name, deletes=True)
            return (taken(found), found.unseen) == ({(deleted.namespace, "a")}, ["ConfigMap", "Secret"])
        return False

    await eventually(look, what="the objects of one namespace, and two kinds that are not seen", seconds=30.0)


async def test_program_warns_of_kinds_that_are_not_shown_and_releases(deleted: Deleted, kubeconfig: Path) -> None:
    await deleted.has(GHOST, CONFIG_MAP)
    await deleted.owns(deleted.namespace, "a")
    process = await asyncio.create_subprocess_exec(
        *(program(), "release", deleted.name, "--delete", "--yes"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"KUBECONFIG": str(kubeconfig)},
    )
    out, err = (part.decode() for part in await process.communicate())
    assert process.returncode == 0, err
    assert "Warning: Ghost.ghosts.example.com cannot be listed everywhere" in err
    assert f"ConfigMap {deleted.namespace}/a" in out
    assert f'"{deleted.name}" released' in out
    await until_gone(deleted.client, BUNDLE_DEPLOYMENTS, "", deleted.name)
    await until_gone(deleted.client, CONFIG_MAPS, deleted.namespace, "a")

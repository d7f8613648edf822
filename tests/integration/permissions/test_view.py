"""Users with Kubernetes' role `view` see our kinds, and change nothing. The shipped role is aggregated into it."""

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ForbiddenError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES, BUNDLES, Resource
from tests.integration.definitions import definitions, install
from tests.manifests import bundle, deployment
from tests.waiting import eventually

Document = dict[str, Any]

MANIFEST = Path(__file__).parents[3] / "manifests/install.yaml"
RBAC = "rbac.authorization.k8s.io"
ROLES = Resource(gvk=GroupVersionKind(RBAC, "v1", "ClusterRole"), plural="clusterroles", namespaced=False)
BINDINGS = Resource(
    gvk=GroupVersionKind(RBAC, "v1", "ClusterRoleBinding"), plural="clusterrolebindings", namespaced=False
)
REVIEWS = Resource(
    gvk=GroupVersionKind("authorization.k8s.io", "v1", "SubjectAccessReview"),
    plural="subjectaccessreviews",
    namespaced=False,
)
OURS = (BUNDLES, BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES)
UPLOAD = {"type": "upload", "upload": {}}
AGGREGATED = ("view", "edit", "admin")


@dataclass(kw_only=True)
class Users:
    """One for each role that Kubernetes makes of parts, who has nothing else."""

    admin: Client
    mark: str

    def name(self, role: str) -> str:
        return f"system:serviceaccount:{self.mark}:{role}"

    def client(self, role: str) -> Client:
        return self.admin.acting_as(self.name(role))

    async def may(self, role: str, **attributes: Document) -> bool:
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
        answer = await self.admin.create(
            REVIEWS, "", orjson.dumps({**body, "spec": {"user": self.name(role), **attributes}})
        )
        return bool(orjson.loads(answer.json or b"")["status"]["allowed"])


@pytest.fixture
async def users(client: Client) -> AsyncIterator[Users]:
    await install(client, definitions())
    documents = [one for one in yaml.load_all(MANIFEST.read_text(), yaml.CSafeLoader) if one]
    (shipped,) = [one for one in documents if one["kind"] == "ClusterRole" and one["metadata"]["name"] == "rukpak-view"]
    await client.apply(ROLES, "", "rukpak-view", orjson.dumps(shipped), field_manager="tests", force=True)
    users = Users(admin=client, mark=f"m{uuid.uuid4().hex[:8]}")
    for role in AGGREGATED:
        body = {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"{users.mark}-{role}"},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": role, "namespace": users.mark}],
        }
        await client.create(BINDINGS, "", orjson.dumps(body))

    async def is_aggregated() -> bool:
        return await users.may(
            "view", resourceAttributes={"group": BUNDLES.gvk.group, "resource": "bundles", "verb": "list"}
        )

    await eventually(is_aggregated, what="Kubernetes has put the role together")
    yield users
    for role in AGGREGATED:
        await client.delete(BINDINGS, "", f"{users.mark}-{role}")


@pytest.mark.parametrize("role", AGGREGATED)
async def test_users_with_a_role_to_view_read_our_kinds(users: Users, role: str) -> None:
    for resource in OURS:
        await users.client(role).list_metadata(resource)
        attributes = {"group": resource.gvk.group, "resource": resource.plural}
        assert [
            verb
            for verb in ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
            if await users.may(role, resourceAttributes={**attributes, "verb": verb})
        ] == ["get", "list", "watch"]


@pytest.mark.parametrize("role", AGGREGATED)
async def test_role_to_view_grants_no_writes(users: Users, role: str) -> None:
    name = f"{users.mark}-{role}"
    with pytest.raises(ForbiddenError):
        await users.client(role).create(BUNDLE_DEPLOYMENTS, "", orjson.dumps(deployment(name, UPLOAD)))
    with pytest.raises(ForbiddenError):
        await users.client(role).create(BUNDLES, "", orjson.dumps(bundle(name, UPLOAD)))
    for resource in OURS:
        attributes = {"group": resource.gvk.group, "resource": resource.plural, "subresource": "status"}
        for verb in ("update", "patch"):
            assert not await users.may(role, resourceAttributes={**attributes, "verb": verb})


@pytest.mark.parametrize("role", AGGREGATED)
async def test_content_is_not_part_of_it(users: Users, role: str) -> None:
    for path, verb in (("/bundles/x.tgz", "get"), ("/uploads/x.tgz", "update")):
        assert not await users.may(role, nonResourceAttributes={"path": path, "verb": verb})

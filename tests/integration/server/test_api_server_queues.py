"""The FlowSchemas that we ship put the operator's vital requests into queues of their own, on a real API server."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
import yaml

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.kube.resources import Resource
from tests.waiting import eventually

SchemaOf = Callable[[str, str], Awaitable[str]]

MANIFEST = Path(__file__).parents[3] / "manifests/install.yaml"
ACCOUNT = "system:serviceaccount:rukpak-system:core-admin"
OTHER = "system:serviceaccount:rukpak-system:default"
SYSTEM = "/api/v1/namespaces/rukpak-system"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/rukpak-system/leases/core.rukpak.io"
VITAL = [
    f"{SYSTEM}/configmaps/content",
    f"{SYSTEM}/secrets/rukpak-ca",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/rukpak",
    "/apis/core.rukpak.io/v1alpha1/bundles/a",
]
WORK = ["/api/v1/namespaces/default/configmaps/a", "/apis/apps/v1/namespaces/rukpak-system/deployments/core"]
FLOW_SCHEMAS = Resource(
    gvk=GroupVersionKind("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema"), plural="flowschemas", namespaced=False
)


@pytest.fixture
async def shipped(admin: Client) -> dict[str, str]:
    """Names by uid, as answers show them. They stay: no other account of this control plane matches them."""
    documents: list[dict[str, Any]] = [one for one in yaml.load_all(MANIFEST.read_text(), yaml.CSafeLoader) if one]
    schemas = [one for one in documents if one["kind"] == "FlowSchema"]
    names = {}
    for schema in schemas:
        name, body = schema["metadata"]["name"], orjson.dumps(schema)
        applied = await admin.apply(FLOW_SCHEMAS, "", name, body, field_manager="tests", force=True)
        names[applied.metadata.uid] = name
    return names


@pytest.fixture
async def schema_of(plane: ControlPlane, shipped: dict[str, str]) -> AsyncIterator[SchemaOf]:
    """Ask which of our FlowSchemas the server uses for a GET; its answer does not matter."""
    connection = await load_connection(plane.kubeconfig)
    async with aiohttp.ClientSession() as session:

        async def ask(user: str, path: str) -> str:
            headers = {"Impersonate-User": user}
            async with session.get(connection.server + path, headers=headers, ssl=connection.tls or True) as answer:
                return shipped.get(answer.headers["X-Kubernetes-PF-FlowSchema-UID"], "")

        async def is_used() -> bool:
            return await ask(ACCOUNT, LEASE) != ""

        await eventually(is_used, what="the server has taken the FlowSchemas in")
        yield ask


async def test_the_lease_has_the_queue_of_leader_election(schema_of: SchemaOf) -> None:
    assert await schema_of(ACCOUNT, LEASE) == "rukpak-leader-election"


@pytest.mark.parametrize("path", VITAL)
async def test_requests_that_the_webhook_needs_do_not_wait_behind_applies(schema_of: SchemaOf, path: str) -> None:
    assert await schema_of(ACCOUNT, path) == "rukpak-admission"


@pytest.mark.parametrize("path", WORK)
async def test_work_has_the_queues_of_all_accounts(schema_of: SchemaOf, path: str) -> None:
    assert await schema_of(ACCOUNT, path) == ""


@pytest.mark.parametrize("path", [LEASE, *VITAL])
async def test_other_accounts_gain_nothing(schema_of: SchemaOf, path: str) -> None:
    assert await schema_of(OTHER, path) == ""

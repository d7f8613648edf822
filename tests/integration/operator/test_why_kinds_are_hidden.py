"""Kinds that cannot be seen: whose right is missing, and which API service is broken, says the condition."""

from collections.abc import AsyncIterator, Callable

import orjson
import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import API_SERVICES, CRDS
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.kinds import instance
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.operator.test_leader_without_rights import User
from tests.manifests import Document, config_map, crd, manifest
from tests.waiting import eventually

GROUPS = [
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authorization.k8s.io",
    "coordination.k8s.io",
    "core.rukpak.io",
    "events.k8s.io",
]
EVERYTHING_ELSE: dict[str, list[str]] = {"apiGroups": GROUPS, "resources": ["*"], "verbs": ["*"]}
URLS = {"nonResourceURLs": ["*"], "verbs": ["*"]}


def group_of(tenant: Tenant) -> str:
    return f"{tenant.name}.rukpak.test"


def says(*words: str, kind: str = "Ready") -> Callable[[Document], bool]:
    def check(deployment: Document) -> bool:
        message = condition(deployment, kind).get("message", "")
        return all(one in message for one in words)

    return check


async def test_a_kind_that_may_not_be_listed_is_told_as_a_missing_right(
    tenant: Tenant, operators: StartOperator, plane: ControlPlane
) -> None:
    group = group_of(tenant)
    await tenant.admin.create(CRDS, "", orjson.dumps(crd(group, "v1")))
    user = User(tenant.admin, f"narrow-{tenant.name}")
    own = {"apiGroups": [group], "resources": ["things"], "verbs": ["get", "create", "patch", "delete"]}
    await user.may([EVERYTHING_ELSE, URLS, own])
    operator = operators(kubeconfig=plane.user_kubeconfig(user.name))
    await operator.start()
    await tenant.publish("v1", [instance(group, "v1", "one", tenant.namespace), config_map("one", tenant.namespace)])
    await tenant.deploy("v1")
    right = f'User "{user.name}" cannot watch resource "things" in API group "{group}" at the cluster scope'
    told = await tenant.until(says("a right is missing", right), what="the right is named")
    ready = condition(told, "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "AccessDenied")

    await user.may([EVERYTHING_ELSE, URLS, {**own, "verbs": ["*"]}])
    await tenant.ready(seconds=90)  # a watch that is refused is tried again every 30 s
    await user.may([EVERYTHING_ELSE, URLS, own])
    await operator.stop()
    await operator.start()
    await tenant.until(says("a right is missing", right), what="the same of what is installed")


@pytest.fixture
async def broken_service(admin: Client, tenant: Tenant) -> AsyncIterator[str]:
    """An API service whose Service does not exist. It is removed again, because it stops the end of namespaces."""
    name = f"v1.{group_of(tenant)}"
    service = {"name": "missing", "namespace": tenant.namespace, "port": 443}
    spec = {"group": group_of(tenant), "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 1}
    body = manifest("apiregistration.k8s.io/v1", "APIService", name, spec={**spec, "service": service})
    await admin.create(API_SERVICES, "", orjson.dumps(body))

    async def is_judged() -> bool:
        return condition(await tenant.read(API_SERVICES, "", name), "Available").get("status") == "False"

    await eventually(is_judged, what="the API service is judged")
    yield name
    await admin.delete(API_SERVICES, "", name)


async def test_a_broken_api_service_is_told_as_that(tenant: Tenant, operator: Operator, broken_service: str) -> None:
    own_words = condition(await tenant.read(API_SERVICES, "", broken_service), "Available")["message"]
    await tenant.publish("v1", [instance(group_of(tenant), "v1", "one", tenant.namespace)])
    await tenant.deploy("v1")
    told = await tenant.until(
        says(f"APIService {broken_service} is not available: {own_words}"), what="it is named", seconds=60
    )
    assert "install its CRD" not in condition(told, "Ready")["message"]

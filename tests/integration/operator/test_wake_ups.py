"""A failed attempt is repeated at once when its cause goes away.

The operator of these tests retries after ten minutes only, so each success here was brought by a watch.
"""

from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
import yaml
from aiohttp import web

from rukpak_py.kube.resources import (
    BUNDLE_DEPLOYMENTS,
    CONFIG_MAPS,
    CRDS,
    NAMESPACES,
    RESOURCE_QUOTAS,
    SECRETS,
    Resource,
)
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.fetching import LOOPBACK, Fetching, fetching
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition, is_ready
from tests.manifests import Document, config_map, crd, manifest
from tests.unit.sources.websites import Site, tgz, website
from tests.waiting import eventually

SECONDS = 20.0  # long before the ten minutes, and before the 30 s after which a wait is looked at again
USER, PASSWORD = "ann", "c4n4ry-of-a-wake-up"


@pytest.fixture
async def operator(operators: StartOperator) -> Operator:
    operator = operators(
        module="tests.integration.operator.slow_to_retry", arguments=[LOOPBACK, "--allow-plain-http-credentials"]
    )
    await operator.start()
    return operator


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with website() as site:
        yield site


@pytest.fixture
async def fetched(tenant: Tenant) -> AsyncIterator[Fetching]:
    async with fetching(tenant) as one:
        yield one


async def until_failed(tenant: Tenant, *texts: str, reason: str = "InstallFailed") -> Document:
    """Its failure is told, and its next attempt is ten minutes away."""

    def has_failed(one: Document) -> bool:
        ready = condition(one, "Ready")
        return ready.get("status") == "False" and all(text in ready["message"] for text in texts)

    found = await tenant.until(has_failed, what=f"it fails with {texts}")
    assert condition(found, "Installed")["reason"] == reason
    return found


def secret(name: str, tenant: Tenant, password: str) -> tuple[Resource, str, bytes]:
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "stringData": {"username": USER, "password": password},
    }
    return SECRETS, tenant.system, orjson.dumps(body)


def guarded(site: Site, path: str, body: bytes) -> None:
    expected = f"Basic {b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"

    async def answer(request: web.Request) -> web.Response:
        is_ann = request.headers.get("Authorization") == expected
        return web.Response(body=body) if is_ann else web.Response(status=401)

    site.answers[path] = answer


async def private(tenant: Tenant, fetched: Fetching, site: Site) -> str:
    """A Bundle of an archive for which a login is needed, that of the Secret `login`."""
    body = yaml.safe_dump(config_map("one", tenant.namespace, v="1")).encode()
    guarded(site, "/bundle.tgz", tgz({"manifests/one.yaml": body}))
    auth: dict[str, Any] = {"secret": {"name": "login"}, "insecureSkipVerify": True}
    return await fetched.bundle("private", {"type": "http", "http": {"url": site.url("/bundle.tgz"), "auth": auth}})


def has_failed(bundle: Document) -> bool:
    return condition(bundle, "Unpacked").get("reason") == "UnpackFailed"


@pytest.mark.usefixtures("operator")
class TestSources:
    async def test_secret_that_appears_is_used_at_once(self, tenant: Tenant, fetched: Fetching, site: Site) -> None:
        name = await private(tenant, fetched, site)
        await fetched.until(name, has_failed, what="it fails")
        await tenant.admin.create(*secret("login", tenant, PASSWORD))
        await fetched.until_unpacked(name)

    async def test_corrected_secret_is_used_at_once(self, tenant: Tenant, fetched: Fetching, site: Site) -> None:
        await tenant.admin.create(*secret("login", tenant, "wrong"))
        name = await private(tenant, fetched, site)
        await fetched.until(name, has_failed, what="it fails")
        data = {"data": {"password": b64encode(PASSWORD.encode()).decode()}}
        await tenant.admin.patch(SECRETS, tenant.system, "login", orjson.dumps(data))
        await fetched.until_unpacked(name)

    async def test_config_map_that_appears_is_unpacked_at_once(self, tenant: Tenant) -> None:
        await tenant.deploy("v1")
        await tenant.until(lambda one: condition(one, "Ready").get("status") == "False", what="it fails")
        await tenant.publish("v1", [config_map("one", tenant.namespace, v="1")])
        await tenant.ready(seconds=SECONDS)


@pytest.mark.usefixtures("operator")
class TestDeployments:
    async def install(self, tenant: Tenant, *documents: Document) -> None:
        await tenant.publish("v1", documents)
        await tenant.deploy("v1")

    async def test_namespace_that_appears_is_installed_into_at_once(self, tenant: Tenant) -> None:
        name = f"{tenant.namespace}-later"
        await self.install(tenant, config_map("one", name, v="1"))
        await until_failed(tenant, f"Namespace {name} not found")
        await create_namespace(tenant, name)
        await tenant.ready(seconds=SECONDS)

    async def test_namespace_that_is_created_again_is_installed_into_at_once(self, tenant: Tenant) -> None:
        """Under what is installed: 41 s, when the failures of a namespace that goes woke at their back-off only."""
        name = f"{tenant.namespace}-again"
        await create_namespace(tenant, name)
        await self.install(tenant, config_map("one", name, v="1"), config_map("two", tenant.namespace, v="1"))
        await tenant.ready()
        await tenant.admin.delete(NAMESPACES, "", name)
        await tenant.gone(NAMESPACES, name)
        await tenant.until(lambda one: not is_ready(one), what="it is missed")
        await create_namespace(tenant, name)
        await tenant.ready(seconds=SECONDS)
        assert ("ConfigMap", "one") in await tenant.owned(CONFIG_MAPS)

    async def test_kind_that_appears_is_installed_at_once(self, tenant: Tenant) -> None:
        group = f"{tenant.name}.example.com"
        widget = manifest(f"{group}/v1", "Widget", "one", tenant.namespace)
        await self.install(tenant, widget)
        await until_failed(tenant, "Widget")
        definition = crd(group, kind="Widget")
        await tenant.admin.create(CRDS, "", orjson.dumps(definition))
        try:
            await tenant.ready(seconds=SECONDS)
        finally:
            await tenant.admin.delete(CRDS, "", definition["metadata"]["name"])

    async def test_raised_quota_wakes_the_install_at_once(self, tenant: Tenant) -> None:
        """51 s, when its denial woke at the back-off only."""
        await quota(tenant, "1")  # taken by kube-root-ca.crt
        await self.install(tenant, config_map("one", tenant.namespace, v="1"))
        await until_failed(tenant, "exceeded quota")
        patch = {"spec": {"hard": {"count/configmaps": "9"}}}
        await tenant.admin.patch(RESOURCE_QUOTAS, tenant.namespace, "few", orjson.dumps(patch))
        await tenant.ready(seconds=SECONDS)

    async def test_deleted_quota_wakes_the_install_at_once(self, tenant: Tenant) -> None:
        await quota(tenant, "1")
        await self.install(tenant, config_map("one", tenant.namespace, v="1"))
        await until_failed(tenant, "exceeded quota")
        await tenant.admin.delete(RESOURCE_QUOTAS, tenant.namespace, "few")
        await tenant.ready(seconds=SECONDS)

    async def test_an_object_of_another_deployment_that_goes(self, tenant: Tenant) -> None:
        other = f"{tenant.name}-other"
        await self.install(tenant, config_map("one", tenant.namespace, v="1"))
        await tenant.ready()
        await tenant.deploy("v1", name=other)
        await tenant.until(
            lambda one: condition(one, "Ready").get("reason") == "Conflict", what="it is refused", name=other
        )
        await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
        await tenant.ready(name=other, seconds=SECONDS)


async def create_namespace(tenant: Tenant, name: str) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await tenant.admin.create(NAMESPACES, "", orjson.dumps(body))


async def quota(tenant: Tenant, most: str) -> None:
    """Enforced: the controller has counted."""
    body = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few"},
        "spec": {"hard": {"count/configmaps": most}},
    }
    await tenant.admin.create(RESOURCE_QUOTAS, tenant.namespace, orjson.dumps(body))

    async def is_counted() -> bool:
        found = await tenant.read(RESOURCE_QUOTAS, tenant.namespace, "few")
        return bool(found.get("status", {}).get("used"))

    await eventually(is_counted, what="the quota is counted")

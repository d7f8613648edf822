"""Calls for a BundleInstance beyond its BundleDeployment, and an operator whose API server does not serve the kind."""

from collections.abc import AsyncIterator
from contextlib import suppress

import orjson
import pytest

from rukpak_py.api.names import BUNDLE_INSTANCE_KIND, BUNDLE_INSTANCE_PLURAL
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.resources import BUNDLE_INSTANCES, CONFIG_MAPS
from tests import manifests
from tests.integration.definitions import definitions, install, remove
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.counting import calls_during, has_seen, now, settled
from tests.integration.operator.process import Operator
from tests.integration.operator.reviewing import users_of
from tests.integration.operator.tenant import Tenant, is_ready
from tests.manifests import Document, config_map
from tests.waiting import eventually

DEPLOYMENT_ALONE = {
    ("get", "configmaps", "200"): 1,  # the source
    ("create", "bundles", "201"): 1,
    ("patch", "bundles/status", "200"): 1,
    ("get", "configmaps", "404"): 1,
    ("apply", "configmaps", "201"): 1,
    ("patch", "bundledeployments/status", "200"): 2,  # the kinds; the result
}
MIRROR = {
    ("create", "bundledeployments", "201"): 1,
    ("patch", "bundleinstances/status", "200"): 1,  # the result; what is in progress only when it lasts
}


class Instance:
    """The tenant's BundleInstance."""

    def __init__(self, tenant: Tenant) -> None:
        self.name = tenant.name
        self._tenant = tenant
        self._admin = tenant.admin

    async def create(self, *sources: str) -> None:
        body = {**manifests.deployment(self.name, manifests.source(*sources)), "kind": BUNDLE_INSTANCE_KIND}
        self._tenant.sees_to(self.name)
        await self._admin.create(BUNDLE_INSTANCES, "", orjson.dumps(body))

    async def ready(self) -> Document:
        async def look() -> Document | None:
            found = await self._tenant.read(BUNDLE_INSTANCES, "", self.name)
            return found if is_ready(found) else None

        return await eventually(look, what="the instance is Ready")

    async def end(self) -> None:
        with suppress(ApiError):  # it may have gone with its CRD
            await self._admin.delete(BUNDLE_INSTANCES, "", self.name)


@pytest.fixture
async def instance(tenant: Tenant) -> AsyncIterator[Instance]:
    instance = Instance(tenant)
    yield instance
    await instance.end()


async def test_a_mirrored_install_costs_two_requests_more(
    tenant: Tenant, operator: Operator, instance: Instance
) -> None:
    await tenant.publish("v0", [config_map("zero", tenant.namespace)])
    await tenant.deploy("v0", name=f"{tenant.name}-zero")  # opens the watch of ConfigMaps
    await tenant.ready(name=f"{tenant.name}-zero")
    await tenant.publish("v1", [config_map("one", tenant.namespace)])

    async def work() -> None:
        await instance.create("v1")
        await instance.ready()

    assert await calls_during(operator, work) == {**DEPLOYMENT_ALONE, **MIRROR}


async def test_a_restart_neither_reads_nor_writes_a_mirror(
    tenant: Tenant, operator: Operator, instance: Instance
) -> None:
    await tenant.publish("v1", [config_map("one", tenant.namespace)])
    await instance.create("v1")
    await instance.ready()
    await operator.stop()
    since = now()
    await operator.start()
    await has_seen(operator, ("bundleinstances", "bundledeployments"), since)
    sent = await settled(operator)
    assert not [call for call in sent if call[1].split("/")[0] in {"bundledeployments", "bundleinstances"}]


@pytest.fixture
async def crd_absent(admin: Client, instance: Instance) -> AsyncIterator[None]:
    """Remove the CRD of BundleInstances; it is there again afterwards."""
    await remove(admin, BUNDLE_INSTANCE_PLURAL)
    yield
    await install(admin, definitions())


@pytest.mark.usefixtures("crd_absent")
async def test_an_operator_works_without_the_kind_and_serves_it_once_it_is_there(
    admin: Client, tenant: Tenant, operators: StartOperator, instance: Instance
) -> None:
    """Installations whose CRDs are older than the operator; then they are upgraded, and later one is deleted."""
    operator = operators(arguments=["--leader-elect"])
    await operator.start()
    await tenant.publish("v1", [config_map("one", tenant.namespace)])
    await tenant.deploy("v1", name=f"{tenant.name}-plain")
    await tenant.ready(name=f"{tenant.name}-plain")

    await install(admin, definitions())
    await tenant.publish("v2", [config_map("two", tenant.namespace)])
    await instance.create("v2")
    await instance.ready()
    assert "restarting Kopf: BundleInstance is now served" in operator.log
    assert f"{tenant.name}-plain" in await users_of(operator, tenant, "v1")

    await remove(admin, BUNDLE_INSTANCE_PLURAL)

    async def is_told() -> bool:
        return "restarting Kopf: BundleInstance is not served any more" in operator.log

    await eventually(is_told, what="Kopf watches it no more")
    await tenant.publish("v3", [config_map("three", tenant.namespace)])
    await tenant.deploy("v3", name=f"{tenant.name}-plain")
    await tenant.ready(name=f"{tenant.name}-plain")
    assert ("ConfigMap", "three") in await tenant.owned(CONFIG_MAPS, name=f"{tenant.name}-plain")
    assert f"{tenant.name}-plain" in await users_of(operator, tenant, "v3")
    assert operator.is_running
    assert operator.starts == 1

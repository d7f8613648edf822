"""Objects that a user deletes while they are applied: they are tried again at once, and no Warning is told."""

from collections.abc import Callable

import pytest

from rukpak_py.kube.resources import CONFIG_MAPS, EVENTS
from tests.integration.listing import listed
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.striking import Hold
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.proxy import Exchange, Proxy
from tests.manifests import Document, config_map
from tests.waiting import eventually


def applies_settings(exchange: Exchange) -> bool:
    return exchange.is_apply and exchange.resource == "configmaps" and exchange.name == "settings"


def tries_settings(exchange: Exchange) -> bool:
    return exchange.is_dry_run and exchange.resource == "configmaps" and exchange.name == "settings"


@pytest.mark.parametrize("is_held", [tries_settings, applies_settings], ids=["trial", "apply"])
async def test_object_deleted_before_its_request_arrives_is_created_again_without_a_warning(
    tenant: Tenant, operators: StartOperator, proxy: Proxy, is_held: Callable[[Exchange], bool]
) -> None:
    await operators(kubeconfig=proxy.kubeconfig).start()
    for version in ("1", "2"):
        await tenant.publish(f"v{version}", [config_map("settings", tenant.namespace, v=version)])
    await tenant.deploy("v1")
    await tenant.ready()
    hold = Hold(is_held)
    proxy.rules.append(hold)
    await tenant.deploy("v2")

    async def is_under_way() -> bool:
        return bool(hold.held)

    await eventually(is_under_way, what="the request is under way")
    proxy.stall("configmaps")  # the answer tells of the deletion before the watch does
    await tenant.admin.delete(CONFIG_MAPS, tenant.namespace, "settings")
    hold.let_go.set()
    await tenant.until(lambda one: "another client" in condition(one, "Ready")["message"], what="the wait is told")
    proxy.flow("configmaps")

    await tenant.ready()
    assert (await tenant.read(CONFIG_MAPS, tenant.namespace, "settings"))["data"]["v"] == "2"
    told: list[Document] = []

    async def is_told() -> bool:
        told[:] = await listed(tenant.admin, EVENTS, field_selector=f"involvedObject.name={tenant.name}")
        return any(one["reason"] == "Upgraded" for one in told)

    await eventually(is_told, what="the Event of the upgrade")  # those before it are there, too
    assert not [one["message"] for one in told if one["type"] == "Warning"]

"""SIGKILL around the writes of an ordered deletion by an account: it goes on, and nothing is deleted twice."""

import asyncio
from collections import Counter

import pytest

from e2e.cluster.audit import audited
from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.names import ORDERED_DELETION_FINALIZER
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CONFIG_MAPS, CRDS
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.striking import Point, Strike, When
from tests.integration.operator.tenant import Tenant
from tests.integration.proxy import Exchange, Proxy
from tests.integration.tenancy.accounts import EVERYTHING, create_account, grant_everywhere, revoke_everywhere
from tests.manifests import config_map, crd


def is_deletion_of_a_definition(exchange: Exchange) -> bool:
    return exchange.is_write and exchange.method == "DELETE" and exchange.what == "customresourcedefinitions"


def is_end(exchange: Exchange) -> bool:
    """The finalizer goes."""
    is_deployment = exchange.method == "PATCH" and exchange.what == "bundledeployments"
    is_about_finalizers = b"/metadata/finalizers" in exchange.body
    return is_deployment and is_about_finalizers and ORDERED_DELETION_FINALIZER.encode() not in exchange.body


POINTS = [
    Point(name=name, when=when, match=match)
    for name, match in (("a definition is deleted", is_deletion_of_a_definition), ("the finalizer goes", is_end))
    for when in When
]


@pytest.mark.parametrize("point", POINTS, ids=lambda point: f"{point.when.value} {point.name}")
async def test_operator_killed_in_a_deletion_by_an_account(
    plane: ControlPlane, tenant: Tenant, operators: StartOperator, proxy: Proxy, point: Point
) -> None:
    account = await create_account(tenant.admin, tenant.namespace, rules=())
    await grant_everywhere(tenant.admin, account, (EVERYTHING,))
    operator = operators(kubeconfig=proxy.kubeconfig)
    await tenant.settled()
    await operator.start()
    definition = crd(f"{tenant.name}.example.org")
    await tenant.publish("content", [definition, config_map("settings", tenant.namespace, v="1")])
    await tenant.deploy("content", installNamespace=tenant.namespace, serviceAccountName=account.name)
    await tenant.ready(seconds=60.0)

    skip = len(audited(plane.state))
    strike = Strike(point, operator.kill)
    proxy.rules = [strike]
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    async with asyncio.timeout(60.0):
        await strike.fired.wait()
    proxy.rules = []
    operator.launch()
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await tenant.gone(CRDS, definition["metadata"]["name"])
    await tenant.left_nothing(BUNDLES, CONFIG_MAPS)

    deletions = Counter(
        (one.resource, one.name)
        for one in audited(plane.state, skip=skip)
        if one.account == account.user and one.verb == "delete" and not one.is_dry_run and one.code < 300
    )
    assert deletions["customresourcedefinitions", definition["metadata"]["name"]] == 1
    assert [one for one, count in deletions.items() if count > 1] == []
    await revoke_everywhere(tenant.admin, account)

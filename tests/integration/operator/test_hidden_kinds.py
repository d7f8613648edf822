"""Kinds that the API server does not show: for a moment, after a restart of its own, or because their CRD is gone.

Nothing that is there is ever taken for missing, and nothing that is gone is waited for.
"""

import signal
from contextlib import suppress

import orjson
import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.kube.errors import KindNotServedError, NotFoundError, ServerUnavailableError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS, CRDS
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.kinds import HiddenGroup, instance, things
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition, is_ready
from tests.integration.proxy import Exchange, Proxy
from tests.manifests import Document, config_map, crd
from tests.waiting import eventually

MISSING = 10  # deployments


def group_of(tenant: Tenant) -> str:
    return f"{tenant.name}.rukpak.test"


def content(tenant: Tenant, *, with_crd: bool = True) -> list[Document]:
    group = group_of(tenant)
    objects = [instance(group, "v1", "one", tenant.namespace, a="precious"), config_map("one", tenant.namespace, v="1")]
    return [crd(group, "v1"), *objects] if with_crd else objects


async def installed(tenant: Tenant, *, with_crd: bool = True) -> None:
    await tenant.publish("v1", content(tenant, with_crd=with_crd))
    await tenant.deploy("v1")
    await tenant.ready()


async def thing(tenant: Tenant) -> Document:
    return await tenant.read(things(group_of(tenant)), tenant.namespace, "one")


async def drifts(tenant: Tenant) -> None:
    async def is_edited() -> bool:
        with suppress(ServerUnavailableError):  # the first request after a restart of the server
            await tenant.admin.patch(
                CONFIG_MAPS, tenant.namespace, "one", b'{"data":{"v":"2"}}', field_manager="somebody"
            )
            return True
        return False

    await eventually(is_edited, what="the server answers")


async def is_corrected(tenant: Tenant) -> None:
    async def look() -> bool:
        return bool((await tenant.read(CONFIG_MAPS, tenant.namespace, "one"))["data"] == {"v": "1"})

    await eventually(look, what="the drift is corrected")


def kinds(deployment: Document) -> set[str]:
    return {one["kind"] for one in deployment["status"]["kinds"]}


def asks_discovery(exchange: Exchange) -> bool:
    return exchange.path == "/apis"


async def test_an_operator_that_starts_before_a_kind_is_shown_leaves_its_objects_alone_and_corrects_the_rest(
    tenant: Tenant, operators: StartOperator, proxy: Proxy
) -> None:
    operator = operators(kubeconfig=proxy.kubeconfig)
    await operator.start()
    await installed(tenant)
    before = await thing(tenant)

    await operator.stop()
    await drifts(tenant)
    hidden = HiddenGroup(tenant.admin, group_of(tenant))
    proxy.rules.append(hidden)
    await operator.start()
    await is_corrected(tenant)
    told = await tenant.until(
        lambda one: f"does not serve Thing.{group_of(tenant)}" in condition(one, "Ready").get("message", ""),
        what="it says what it waits for",
    )
    assert condition(told, "Installed")["status"] == "True", "everything is installed; some of it cannot be seen"
    assert kinds(told) == {"ConfigMap", "CustomResourceDefinition", "Thing"}
    assert hidden.answers

    proxy.rules.remove(hidden)
    await tenant.ready()
    assert {**await thing(tenant), "metadata": None} == {**before, "metadata": None}
    for lasting in ("uid", "labels", "annotations", "ownerReferences"):
        assert (await thing(tenant))["metadata"][lasting] == before["metadata"][lasting]


async def test_an_operator_that_starts_before_a_kind_is_shown_writes_nothing_when_nothing_drifted(
    tenant: Tenant, operators: StartOperator, proxy: Proxy
) -> None:
    operator = operators(kubeconfig=proxy.kubeconfig)
    await operator.start()
    await installed(tenant)
    before = await thing(tenant)

    await operator.stop()
    hidden = HiddenGroup(tenant.admin, group_of(tenant))
    proxy.rules.append(hidden)
    await operator.start()
    await tenant.publish("other", [config_map("other", tenant.namespace)])
    await tenant.deploy("other", name=f"{tenant.name}-other")
    await tenant.ready(name=f"{tenant.name}-other")  # it has looked at all deployments, and is awake
    assert await thing(tenant) == before

    seen = len(proxy.seen)
    proxy.rules.remove(hidden)
    await eventually(lambda: _is_listed(proxy, seen), what="the kind is listed")
    await tenant.ready()
    assert (await thing(tenant))["spec"] == before["spec"]
    assert (await thing(tenant))["metadata"]["uid"] == before["metadata"]["uid"]


async def _is_listed(proxy: Proxy, since: int) -> bool:
    return any(exchange.resource == "things" and exchange.is_watch for exchange in proxy.seen[since:])


async def test_a_restart_of_the_server_and_of_the_operator_leaves_custom_resources_as_they_are(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    await installed(tenant)
    before = await thing(tenant)
    for stops_operator in (False, True):
        if stops_operator:
            await operator.stop()
        plane.stop_apiserver(signal.SIGKILL)
        plane.start_apiserver()
        if stops_operator:
            operator.launch()
        await drifts(tenant)
        await is_corrected(tenant)
        await tenant.ready()
        assert (await thing(tenant))["spec"] == before["spec"]
        assert (await thing(tenant))["metadata"]["uid"] == before["metadata"]["uid"]


@pytest.mark.parametrize("while_away", [False, True], ids=["while the operator runs", "while it is away"])
async def test_deleted_crd_of_the_content_comes_back_with_its_instances(
    tenant: Tenant, operator: Operator, *, while_away: bool
) -> None:
    await installed(tenant)
    name = f"things.{group_of(tenant)}"
    before = (await tenant.admin.get_metadata(CRDS, "", name)).uid
    if while_away:
        await operator.stop()
    await tenant.admin.delete(CRDS, "", name)
    if while_away:
        await tenant.gone(CRDS, name)
        await operator.start()

    async def is_back() -> bool:
        found = await tenant.owned(CRDS)
        return any(one["metadata"]["uid"] != before for one in found.values())

    await eventually(is_back, what="there is a new CRD")
    await eventually(lambda: _is_precious(tenant), what="there is a new instance")
    await tenant.ready()


async def _is_precious(tenant: Tenant) -> bool:
    with suppress(NotFoundError, KindNotServedError):
        return bool((await thing(tenant))["spec"] == {"a": "precious"})
    return False


@pytest.fixture
async def foreign_crds(tenant: Tenant) -> list[str]:
    """Two CRDs of one group and version that are no content: the API service of both outlives the one."""
    documents = [crd(group_of(tenant), "v1"), crd(group_of(tenant), "v1", kind="Other")]
    for document in documents:
        await tenant.admin.create(CRDS, "", orjson.dumps(document))
    names = [document["metadata"]["name"] for document in documents]

    async def are_established() -> bool:
        found = [await tenant.read(CRDS, "", name) for name in names]
        return all(condition(one, "Established").get("status") == "True" for one in found)

    await eventually(are_established, what="the CRDs are established")
    return names


async def is_gone_for_good(tenant: Tenant, name: str) -> None:
    await tenant.admin.delete(CRDS, "", name)
    await tenant.gone(CRDS, name)


@pytest.mark.parametrize("restarts", [False, True], ids=["", "and the operator restarts"])
async def test_a_kind_whose_crd_is_gone_is_named_and_everything_else_is_kept(
    tenant: Tenant, operator: Operator, foreign_crds: list[str], *, restarts: bool
) -> None:
    await installed(tenant, with_crd=False)
    await is_gone_for_good(tenant, foreign_crds[0])
    if restarts:
        await operator.stop()
        await operator.start()
    told = await tenant.until(
        lambda one: 'no matches for kind "Thing"' in condition(one, "Installed").get("message", ""), what="it is named"
    )
    assert condition(told, "Installed")["status"] == "False"
    await drifts(tenant)
    await is_corrected(tenant)

    body = orjson.dumps(crd(group_of(tenant), "v1"))
    await tenant.admin.create(CRDS, "", body)
    await tenant.ready(seconds=10)
    assert (await thing(tenant))["spec"] == {"a": "precious"}


async def test_a_kind_whose_crd_is_gone_holds_no_upgrade(
    tenant: Tenant, operator: Operator, foreign_crds: list[str]
) -> None:
    await installed(tenant, with_crd=False)
    await operator.stop()
    await is_gone_for_good(tenant, foreign_crds[0])
    await operator.start()
    await tenant.publish("v2", [config_map("two", tenant.namespace)])
    await tenant.deploy("v2")
    deployment = await tenant.ready(seconds=15)
    assert kinds(deployment) == {"ConfigMap"}
    assert set(await tenant.owned(CONFIG_MAPS)) == {("ConfigMap", "two")}


async def test_a_kind_whose_crd_is_gone_holds_no_deletion(
    tenant: Tenant, operator: Operator, foreign_crds: list[str]
) -> None:
    await installed(tenant, with_crd=False)
    await operator.stop()
    await is_gone_for_good(tenant, foreign_crds[0])
    await operator.start()
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await tenant.left_nothing(CONFIG_MAPS)


async def test_many_deployments_that_miss_a_kind_ask_discovery_together_and_continue_when_it_comes(
    tenant: Tenant, operators: StartOperator, proxy: Proxy
) -> None:
    operator = operators(kubeconfig=proxy.kubeconfig)
    await operator.start()
    group = group_of(tenant)
    seen = len(proxy.seen)
    names = [f"{tenant.name}-{number}" for number in range(MISSING)]
    for name in names:
        await tenant.publish(name, [instance(group, "v1", name, tenant.namespace)])
        await tenant.deploy(name, name=name)
    for name in names:
        await tenant.until(
            lambda one: 'no matches for kind "Thing"' in condition(one, "Installed").get("message", ""),
            what="it misses the kind",
            name=name,
        )
    asked = [exchange for exchange in proxy.seen[seen:] if asks_discovery(exchange)]
    assert len(asked) < MISSING

    await tenant.admin.create(CRDS, "", orjson.dumps(crd(group, "v1")))
    for name in names:
        await tenant.until(is_ready, what="it continues", name=name, seconds=10)

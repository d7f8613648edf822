"""Exact numbers of requests, as docs/architecture.md has them: the API server is what limits us.

The operator runs without `--webhook-url`: no webhook of ours is called, which would look at the source ConfigMap too.
"""

import shutil
from collections import Counter

import orjson
import pytest

from rukpak_py.kube.resources import (
    ADMISSION_POLICIES,
    ADMISSION_POLICY_BINDINGS,
    BUNDLE_DEPLOYMENTS,
    CONFIG_MAPS,
)
from tests.integration.operator.conftest import Controllers
from tests.integration.operator.counting import Calls, calls_during, calls_of_each, has_seen, now, served, settled
from tests.integration.operator.kinds import instance, things
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import SERVICES, WORKLOADS, Tenant
from tests.manifests import Document, config_map, crd, service, strings, workload
from tests.waiting import eventually

EACH = 25
LONG_AGO = "2001-01-01T00:00:00Z"
WEBHOOKS = frozenset({"secrets", "validatingwebhookconfigurations"})  # certificates: counted by their own tests
POLICIES = frozenset({ADMISSION_POLICIES.plural, ADMISSION_POLICY_BINDINGS.plural})
# Each process watches each of them once.
PROCESS = frozenset({"namespaces", "customresourcedefinitions", "bundles", "pods", "serviceaccounts"})

FIRST_INSTALL = {
    ("get", "configmaps", "200"): 1,  # the source
    ("create", "bundles", "201"): 1,
    ("patch", "bundles/status", "200"): 1,
    ("patch", "bundledeployments/status", "200"): 2,  # the kinds; the result
    ("get", "configmaps", "404"): EACH,  # metadata: is the name free?
    ("get", "services", "404"): EACH,
    ("apply", "configmaps", "201"): EACH,
    ("apply", "services", "201"): EACH,
    ("watch", "configmaps", "200"): 1,
    ("watch", "services", "200"): 1,
}
RESTART = {
    ("watch", "configmaps", "200"): 2,  # of the inventory; of the sources in the system namespace
    ("watch", "services", "200"): 1,
    **{("watch", plural, "200"): 1 for plural in PROCESS},
    ("get", "customresourcedefinitions", "200"): 1,  # does another operator lead in this cluster?
    ("get", "endpointslices", "404"): 1,  # of the API server, which is no source; this one has none
}


def objects(tenant: Tenant) -> list[Document]:
    services = [service(f"service-{number}", tenant.namespace) for number in range(EACH)]
    services[1]["metadata"]["labels"] = {"team": "ours"}
    return [config_map(f"map-{number}", tenant.namespace, v="1") for number in range(EACH)] + services


async def install(tenant: Tenant) -> None:
    await tenant.publish("v1", objects(tenant))
    await tenant.deploy("v1")
    await tenant.ready()


async def drift(tenant: Tenant) -> None:
    """One object edited, one deleted, one label changed."""
    admin, namespace = tenant.admin, tenant.namespace
    await admin.patch(CONFIG_MAPS, namespace, "map-0", b'{"data":{"v":"edited"}}', field_manager="somebody")
    await admin.delete(SERVICES, namespace, "service-0")
    label = b'{"metadata":{"labels":{"team":"theirs"}}}'
    await admin.patch(SERVICES, namespace, "service-1", label, field_manager="somebody")


async def is_corrected(tenant: Tenant) -> bool:
    owned = await tenant.owned(CONFIG_MAPS, SERVICES)
    return (
        len(owned) == 2 * EACH
        and owned["ConfigMap", "map-0"]["data"] == {"v": "1"}
        and owned["Service", "service-1"]["metadata"]["labels"]["team"] == "ours"
    )


def without_webhooks(calls: Calls) -> Calls:
    return Counter({call: count for call, count in calls.items() if call[1] not in WEBHOOKS})


def without_policies(calls: Calls) -> Calls:
    """Without the look at the age of the admission policies, with which every process begins: five reads."""
    looks = {call for call in calls if call[0] == "get" and (call[1] in POLICIES or call[1] == "/version")}
    assert sum(calls[call] for call in looks) == 5
    return Counter({call: count for call, count in calls.items() if call not in looks})


async def test_a_first_install_looks_at_every_name_and_applies_every_object_once(
    tenant: Tenant, operator: Operator
) -> None:
    assert await calls_during(operator, lambda: install(tenant)) == FIRST_INSTALL


async def test_the_api_server_counts_the_same(tenant: Tenant, operator: Operator, controllers: Controllers) -> None:
    """Its own numbers, in which requests of Kopf would show, and of controllers that empty former tests' namespaces."""
    controllers.pause()
    await settled(operator)
    before = await served(tenant.admin)
    await install(tenant)
    await settled(operator)
    seen = await served(tenant.admin) - before

    ours = ("apply", "create", "update", "put", "post", "patch", "delete", "deletecollection", "list")
    writes = {
        call: count
        for call, count in seen.items()
        if call[0] in ours and call[1].split("/")[0] in {"configmaps", "services", "bundles", "bundledeployments"}
    }
    assert writes == {
        ("post", "configmaps", "201"): 1,  # the test's: the source
        ("apply", "bundledeployments", "201"): 1,  # the test's: the deployment
        ("apply", "configmaps", "201"): EACH,
        ("apply", "services", "201"): EACH,
        ("post", "bundles", "201"): 1,
        ("patch", "bundles/status", "200"): 1,
        ("patch", "bundledeployments/status", "200"): 2,
    }
    assert seen["get", "configmaps", "404"] == EACH
    assert seen["get", "services", "404"] == EACH


async def test_nothing_is_sent_while_nothing_changes(tenant: Tenant, operator: Operator) -> None:
    await install(tenant)
    assert await calls_during(operator, _nothing) == {}


async def test_foreign_labels_fields_and_conditions_cost_nothing(tenant: Tenant, operator: Operator) -> None:
    """A label on the deployment, a foreign field on an object, a status that another client writes."""
    await install(tenant)
    admin, namespace = tenant.admin, tenant.namespace

    async def touch() -> None:
        since = now()
        label = b'{"metadata":{"labels":{"seen":"yes"}}}'
        await admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, label, field_manager="somebody")
        await admin.patch(CONFIG_MAPS, namespace, "map-0", label, field_manager="somebody")
        said = {"type": "Seen", "status": "True", "reason": "Seen", "message": "", "lastTransitionTime": LONG_AGO}
        await admin.patch(SERVICES, namespace, "service-0", label, field_manager="somebody")
        await admin.patch_status(SERVICES, namespace, "service-1", orjson.dumps({"status": {"conditions": [said]}}))
        await has_seen(operator, ("configmaps", "services"), since)

    assert await calls_during(operator, touch) == {}


@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
async def test_each_drifted_object_costs_one_apply(tenant: Tenant, operator: Operator, *, restarted: bool) -> None:
    await install(tenant)
    if restarted:
        await operator.stop()
        await operator.start()

    assert await calls_during(operator, lambda: drift(tenant)) == {
        ("apply", "configmaps", "200"): 1,
        ("apply", "services", "200"): 1,
        ("get", "bundledeployments", "200"): 1,  # the one that is missing may have gone with it
        ("apply", "services", "201"): 1,
    }
    assert await is_corrected(tenant)


async def test_an_upgrade_tries_out_and_applies_what_changed_and_deletes_what_is_gone(
    tenant: Tenant, operator: Operator
) -> None:
    await install(tenant)
    changed = objects(tenant)[:-1]
    changed[0]["data"] = changed[1]["data"] = {"v": "2"}
    changed[EACH]["spec"]["ports"][0]["port"] = 81
    await tenant.publish("v2", changed)

    async def upgrade() -> None:
        await tenant.deploy("v2")
        await tenant.ready()

    assert await calls_during(operator, upgrade) == {
        ("get", "configmaps", "200"): 1,  # the source
        ("create", "bundles", "201"): 1,
        ("patch", "bundles/status", "200"): 1,
        ("dry_run", "configmaps", "200"): 2,
        ("dry_run", "services", "200"): 1,
        ("apply", "configmaps", "200"): 2,
        ("apply", "services", "200"): 1,
        ("delete", "services", "200"): 1,
        ("patch", "bundledeployments/status", "200"): 1,  # the kinds are known: only the result
        ("delete", "bundles", "200"): 1,  # the former one
    }


async def test_an_upgrade_and_a_correction_that_switch_a_union(tenant: Tenant, operator: Operator) -> None:
    """The first apply of both is refused; the member is looked at, tried without, and moved to us."""
    old, new = workload("web", tenant.namespace), workload("web", tenant.namespace)
    new["spec"]["strategy"] = {"type": "Recreate"}
    await tenant.publish("v1", [old])
    await tenant.publish("v2", [new])
    await tenant.deploy("v1")
    await tenant.ready()
    rolling = await strategy(tenant)

    async def upgrade() -> None:
        await tenant.deploy("v2")
        await tenant.ready()
        assert await strategy(tenant) == {"type": "Recreate"}

    async def drift() -> None:
        await tenant.admin.patch(WORKLOADS, tenant.namespace, "web", orjson.dumps({"spec": {"strategy": rolling}}))

        async def is_reverted() -> bool:
            return await strategy(tenant) == {"type": "Recreate"}

        await eventually(is_reverted, what="the strategy is ours again")

    switch = {
        ("get", "deployments", "200"): 1,
        ("dry_run", "deployments", "200"): 1,
        ("patch", "deployments", "200"): 1,
        ("apply", "deployments", "422"): 1,
        ("apply", "deployments", "200"): 1,
    }
    upgraded, corrected = (
        {call: count for call, count in calls.items() if call[1] == "deployments"}
        for calls in await calls_of_each(operator, upgrade, drift)
    )
    assert upgraded == {
        **switch,
        ("dry_run", "deployments", "422"): 1,
        ("dry_run", "deployments", "200"): 2,
        ("get", "deployments", "200"): 2,
    }
    assert corrected == switch


async def strategy(tenant: Tenant) -> Document:
    live = await tenant.read(WORKLOADS, tenant.namespace, "web")
    found: Document = live["spec"]["strategy"]
    return found


@pytest.mark.parametrize("store_is_lost", [False, True], ids=["store kept", "store lost"])
async def test_a_restart_reads_each_kind_once_and_writes_nothing(
    tenant: Tenant, operator: Operator, *, store_is_lost: bool
) -> None:
    await install(tenant)
    await operator.stop()
    if store_is_lost:
        shutil.rmtree(operator.store)
    await operator.start()
    await has_seen(operator, ("services",), 0)

    assert without_webhooks(without_policies(await settled(operator))) == RESTART


async def test_drift_while_away_is_seen_from_one_list_and_the_deployment_applied_again(
    tenant: Tenant, operator: Operator
) -> None:
    await install(tenant)
    await operator.stop()
    await drift(tenant)
    await operator.start()
    await has_seen(operator, ("services",), 0)

    assert without_webhooks(without_policies(await settled(operator))) == {
        **RESTART,
        ("apply", "configmaps", "200"): EACH,
        ("apply", "services", "200"): EACH - 1,
        ("get", "bundledeployments", "200"): 1,  # something is missing: is the deployment gone, too?
        ("get", "services", "404"): 1,  # the one that the list does not show
        ("apply", "services", "201"): 1,
    }
    assert await is_corrected(tenant)


async def _nothing() -> None:
    pass


@pytest.mark.parametrize("is_narrowed", [False, True], ids=["optional field", "narrower field"])
async def test_an_upgrade_of_a_crd_lists_its_objects_only_where_they_tell_what_becomes_of_them(
    tenant: Tenant, operator: Operator, *, is_narrowed: bool
) -> None:
    """The object is of another client: a kind of the content is watched, and a changed CRD ends its watches."""
    group = f"{tenant.name}.rukpak.test"
    old, new = strings("color"), strings("color", "size")
    if is_narrowed:
        new["properties"]["spec"]["properties"]["color"]["maxLength"] = 5
    await tenant.publish("v1", [crd(group, schema=old)])
    await tenant.publish("v2", [crd(group, schema=new)])
    await tenant.deploy("v1")
    await tenant.ready()
    one = instance(group, "v1", "one", tenant.namespace, color="red")
    await tenant.admin.create(things(group), tenant.namespace, orjson.dumps(one))

    async def upgrade() -> None:
        await tenant.deploy("v2")
        await tenant.ready()

    calls = await calls_during(operator, upgrade)
    assert calls["get", "customresourcedefinitions", "200"] == 1
    assert calls["dry_run", "customresourcedefinitions", "200"] == 1
    assert calls["apply", "customresourcedefinitions", "200"] == 1
    assert calls["list", "things", "200"] == int(is_narrowed)

"""An operator that was just restarted writes only what changed, whatever the restart interrupted."""

from collections import Counter

import orjson

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import CONFIG_MAPS, NAMESPACES, Resource
from tests.integration.operator.counting import Calls, has_seen, settled
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document, config_map, crd, thing
from tests.waiting import eventually

EACH = 5
READS = frozenset({"get", "list", "watch"})
CERTIFICATES = frozenset({"secrets", "validatingwebhookconfigurations"})
NO_WRITES: Calls = Counter()
APPLIED_ONE = ("apply", "configmaps", "200")
UPGRADE_OF_ONE = {
    ("dry_run", "configmaps", "200"): 1,
    APPLIED_ONE: 1,
    ("delete", "configmaps", "200"): 1,  # left the content
    ("create", "bundles", "201"): 1,
    ("patch", "bundles/status", "200"): 1,
    ("patch", "bundledeployments/status", "200"): 1,
    ("delete", "bundles", "200"): 1,
}


def maps(tenant: Tenant, changed: str = "1") -> list[Document]:
    """The first of them has this value."""
    found = [config_map(f"map-{number}", tenant.namespace, v="1") for number in range(EACH)]
    found[0]["data"] = {"v": changed}
    return found


def custom(tenant: Tenant, version: int) -> list[Document]:
    """A kind whose instance is healthy once its controller has observed it."""
    group = f"{tenant.name}.example.com"
    defined, one = crd(group), thing(group, "one", tenant.namespace)
    defined["spec"]["versions"][0]["subresources"] = {"status": {}}
    one["spec"]["v"] = version
    return [defined, one]


async def observe(tenant: Tenant, version: int) -> None:
    gvk = GroupVersionKind(f"{tenant.name}.example.com", "v1", "Thing")
    things = Resource(gvk=gvk, plural="things", namespaced=True)
    ready = {"type": "Ready", "status": "True", "reason": "Tested", "message": ""}
    status = {"observedGeneration": version, "conditions": [ready]}
    await tenant.admin.patch_status(things, tenant.namespace, "one", orjson.dumps({"status": status}))


async def writes(operator: Operator) -> Calls:
    """The writes of this process, once it has no more to do. Dry-runs are listed too."""
    await has_seen(operator, ("configmaps",), 0)
    found = await settled(operator)
    return Counter(
        {call: count for call, count in found.items() if call[0] not in READS and call[1] not in CERTIFICATES}
    )


async def apply_and_wait_for_health(tenant: Tenant) -> None:
    """Version 2 is applied; its custom resource is not observed yet, so what left the content is still there."""
    await tenant.publish("v1", [*custom(tenant, 1), *maps(tenant)])
    await tenant.publish("v2", [*custom(tenant, 2), *maps(tenant, "2")[:-1]])
    await tenant.deploy("v1")
    await tenant.ready()
    await observe(tenant, 1)
    first = (await tenant.ready())["status"]["activeBundle"]
    await tenant.deploy("v2")
    await tenant.until(
        lambda one: one["status"]["activeBundle"] != first and condition(one, "Healthy")["status"] == "False",
        what="applied, not healthy yet",
    )


async def names(tenant: Tenant) -> set[str]:
    return {name for _, name in await tenant.owned(CONFIG_MAPS)}


async def test_an_upgrade_right_after_a_restart_applies_only_what_changed(tenant: Tenant, operator: Operator) -> None:
    await tenant.publish("v1", maps(tenant))
    await tenant.publish("v2", maps(tenant, "2")[:-1])
    await tenant.deploy("v1")
    await tenant.ready()
    await operator.stop()
    await tenant.deploy("v2")
    await operator.start()
    await tenant.ready()
    assert await writes(operator) == UPGRADE_OF_ONE


async def test_an_upgrade_that_was_refused_before_a_restart_applies_only_what_changed(
    tenant: Tenant, operator: Operator
) -> None:
    """Its Bundle is unpacked already, so the installed content is not looked at by itself first."""
    late = f"{tenant.namespace}-late"
    await tenant.publish("v1", maps(tenant))
    await tenant.publish("v2", [*maps(tenant, "2"), config_map("late", late, v="1")])
    await tenant.deploy("v1")
    await tenant.ready()
    await tenant.deploy("v2")
    await tenant.until(lambda one: late in condition(one, "Installed").get("message", ""), what="it is refused")
    await operator.stop()
    await operator.start()
    await settled(operator)
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": late}}
    await tenant.admin.create(NAMESPACES, "", orjson.dumps(body))
    await tenant.ready()
    assert {call: count for call, count in (await writes(operator)).items() if call[0] == "apply"} == {
        APPLIED_ONE: 1,
        ("apply", "configmaps", "201"): 1,
    }


async def test_a_restart_while_health_is_awaited_applies_nothing_and_prunes_once_it_is_there(
    tenant: Tenant, operator: Operator
) -> None:
    await apply_and_wait_for_health(tenant)
    operator.kill()
    await operator.start()
    assert await writes(operator) == NO_WRITES
    assert f"map-{EACH - 1}" in await names(tenant)

    await observe(tenant, 2)
    await tenant.ready()
    assert await writes(operator) == {
        ("delete", "configmaps", "200"): 1,
        ("delete", "bundles", "200"): 1,
        ("patch", "bundledeployments/status", "200"): 1,
    }
    assert f"map-{EACH - 1}" not in await names(tenant)


async def test_an_upgrade_right_after_a_restart_that_interrupted_one_applies_only_what_changed(
    tenant: Tenant, operator: Operator
) -> None:
    await apply_and_wait_for_health(tenant)
    operator.kill()
    await tenant.publish("v3", [*custom(tenant, 2), *maps(tenant, "3")[:-1]])
    await tenant.deploy("v3")
    await operator.start()
    await observe(tenant, 2)
    await tenant.ready()
    found = await writes(operator)
    assert {call: count for call, count in found.items() if call[0] in {"apply", "delete"}} == {
        APPLIED_ONE: 1,
        ("delete", "configmaps", "200"): 1,
        ("delete", "bundles", "200"): 2,
    }


async def test_a_restart_with_kept_objects_writes_nothing(tenant: Tenant, operator: Operator) -> None:
    shipped = f"{tenant.namespace}-shipped"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": shipped}}
    await tenant.publish("v1", [namespace, *maps(tenant)])
    await tenant.publish("v2", maps(tenant))
    await tenant.deploy("v1")
    await tenant.ready()
    await tenant.deploy("v2")
    upgraded = await tenant.until(lambda one: one["status"].get("kept"), what="the namespace is kept")
    assert [one["name"] for one in upgraded["status"]["kept"]] == [shipped]
    await tenant.ready()
    await settled(operator)
    await operator.stop()
    await operator.start()
    assert await writes(operator) == NO_WRITES

    async def is_reverted() -> bool:
        return bool((await tenant.owned(CONFIG_MAPS))["ConfigMap", "map-0"]["data"] == {"v": "1"})

    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "map-0", b'{"data":{"v":"x"}}', field_manager="somebody")
    await eventually(is_reverted, what="drift is corrected")
    assert await writes(operator) == {APPLIED_ONE: 1}, "what is kept is no drift"

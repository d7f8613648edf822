"""A Bundle's spec that was changed while no webhook stood guard: what was unpacked stays, and the status tells."""

import orjson

from rukpak_py.kube.resources import BUNDLES, CONFIG_MAPS
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition, is_ready
from tests.manifests import Document, config_map
from tests.waiting import eventually

OTHER = {"source": {"configMaps": [{"configMap": {"name": "other"}}]}}


async def test_a_spec_that_was_changed_while_the_webhook_was_away(tenant: Tenant, operator: Operator) -> None:
    """No webhook calls this operator."""
    await tenant.publish("v1", [config_map("settings", tenant.namespace, key="value")])
    await tenant.deploy("v1")
    await tenant.ready()
    (bundle,) = [name for _, name in await tenant.owned(BUNDLES)]
    before = await tenant.read(BUNDLES, "", bundle)

    await change_spec(tenant, bundle, OTHER)
    found = await until_ready_is(tenant, bundle, "False")
    assert condition(found, "Ready")["reason"] == "SpecChanged"
    assert "bundle.spec was changed although it is immutable" in condition(found, "Ready")["message"]
    assert (condition(found, "Stalled")["status"], condition(found, "Stalled")["reason"]) == ("True", "SpecChanged")
    assert found["status"]["phase"] == "Unpacked"
    for field in ("digest", "specDigest", "resolvedSource"):
        assert found["status"][field] == before["status"][field]

    await tenant.admin.delete(CONFIG_MAPS, tenant.namespace, "settings")
    await tenant.until(refers_to_the_bundle, what="told that the Bundle is not what its template says")

    async def is_restored() -> bool:
        return ("ConfigMap", "settings") in await tenant.owned(CONFIG_MAPS)

    await eventually(is_restored, what="what the Bundle has is kept all the same")

    await change_spec(tenant, bundle, before["spec"])
    await until_ready_is(tenant, bundle, "True")
    await tenant.until(is_ready, what="Ready again")


def refers_to_the_bundle(deployment: Document) -> bool:
    ready = condition(deployment, "Ready")
    return (ready.get("status"), ready.get("reason")) == ("False", "Conflict") and (
        "delete that Bundle" in ready["message"]
    )


async def change_spec(tenant: Tenant, bundle: str, spec: Document) -> None:
    await tenant.admin.patch(BUNDLES, "", bundle, orjson.dumps({"spec": spec}))


async def until_ready_is(tenant: Tenant, bundle: str, status: str) -> Document:
    async def look() -> Document | None:
        found = await tenant.read(BUNDLES, "", bundle)
        return found if condition(found, "Ready").get("status") == status else None

    return await eventually(look, what=f"the Bundle's condition Ready is {status}")

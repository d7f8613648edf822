"""The store is a cache: it may be lost or damaged at any time. Content comes back from its source, or not at all."""

import shutil

from rukpak_py.kube.resources import BUNDLES, CONFIG_MAPS
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document, config_map
from tests.waiting import eventually

EDIT = b'{"data":{"v":"edited"}}'


def content(tenant: Tenant, value: str = "1") -> list[Document]:
    return [config_map(name, tenant.namespace, v=value) for name in ("one", "two")]


async def install(tenant: Tenant) -> Document:
    await tenant.publish("v1", content(tenant))
    await tenant.deploy("v1")
    await tenant.ready()
    return await bundle(tenant)


async def bundle(tenant: Tenant) -> Document:
    (found,) = (await tenant.owned(BUNDLES)).values()
    return found


async def values(tenant: Tenant) -> dict[str, str]:
    return {name: one["data"]["v"] for (_, name), one in (await tenant.owned(CONFIG_MAPS)).items()}


async def edit_one(tenant: Tenant) -> None:
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "one", EDIT, field_manager="somebody")


async def is_as_shipped(tenant: Tenant) -> bool:
    return await values(tenant) == {"one": "1", "two": "1"}


async def test_a_store_that_is_lost_while_running(tenant: Tenant, operator: Operator) -> None:
    await install(tenant)
    shutil.rmtree(operator.store)

    await edit_one(tenant)
    await eventually(lambda: is_as_shipped(tenant), what="drift is corrected without the store")
    await tenant.publish("v2", content(tenant, "2"))
    await tenant.deploy("v2")
    await tenant.ready()
    assert await values(tenant) == {"one": "2", "two": "2"}
    assert [path.suffix for path in (operator.store / "content").iterdir()] == [".tgz"]


async def test_a_store_that_is_lost_comes_back_when_it_is_needed(tenant: Tenant, operator: Operator) -> None:
    before = await install(tenant)
    await operator.stop()
    shutil.rmtree(operator.store)
    await edit_one(tenant)
    await operator.start()

    await eventually(lambda: is_as_shipped(tenant), what="the drift is corrected")
    after = await bundle(tenant)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["status"] == before["status"]


async def test_damaged_content_is_fetched_again(tenant: Tenant, operator: Operator) -> None:
    before = await install(tenant)
    await operator.stop()
    (stored,) = (operator.store / "content").iterdir()
    whole = stored.read_bytes()
    stored.write_bytes(whole[: len(whole) // 2] + bytes(16))
    await edit_one(tenant)
    await operator.start()

    await eventually(lambda: is_as_shipped(tenant), what="the drift is corrected")
    assert stored.read_bytes() == whole
    assert (await bundle(tenant))["status"] == before["status"]


async def test_content_that_changed_is_not_accepted(tenant: Tenant, operator: Operator) -> None:
    """The ConfigMap was made anew with other content while no webhook stood guard, and ours was lost."""
    before = await install(tenant)
    await operator.stop()
    shutil.rmtree(operator.store)
    await tenant.admin.delete(CONFIG_MAPS, tenant.system, "v1")
    await tenant.publish("v1", content(tenant, "other"))
    await edit_one(tenant)
    await operator.start()

    told = await tenant.until(
        lambda one: condition(one, "HasValidBundle").get("status") == "False", what="the deployment says so"
    )
    assert "the source has other content now" in condition(told, "HasValidBundle")["message"]
    assert condition(told, "Ready")["status"] == "False"
    changed = await bundle(tenant)
    assert condition(changed, "Unpacked")["reason"] == "ContentChanged"
    assert changed["status"]["digest"] == before["status"]["digest"]
    assert await values(tenant) == {"one": "edited", "two": "1"}

    await tenant.admin.delete(CONFIG_MAPS, tenant.system, "v1")
    await tenant.publish("v1", content(tenant))
    await tenant.ready()
    assert await is_as_shipped(tenant)
    assert (await bundle(tenant))["status"]["digest"] == before["status"]["digest"]

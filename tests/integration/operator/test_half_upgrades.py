"""An upgrade that failed half way: the condition says what is in the cluster, and drift of it is corrected."""

from collections.abc import Awaitable, Callable

import orjson

from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.resources import BUNDLES, CONFIG_MAPS
from tests.integration.operator.charts import deploy, publish
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.operator.test_half_done import namespace, rival_services
from tests.manifests import Document, config_map
from tests.unit.charts import job_hook
from tests.waiting import eventually

HALF = "is half done"


async def half_upgraded(tenant: Tenant) -> Document:
    """`both` is of the new content, `dropped` is only in the old one, and one of two Services cannot be made."""
    new = f"{tenant.namespace}-new"
    old = [config_map(name, tenant.namespace, v="1") for name in ("both", "dropped")]
    await tenant.publish("v1", old)
    services = await rival_services(tenant, new)
    await tenant.publish("v2", [config_map("both", tenant.namespace, v="2"), namespace(new), *services])
    await tenant.deploy("v1")
    await tenant.ready()
    await tenant.deploy("v2")
    return await tenant.until(lambda one: HALF in condition(one, "Installed").get("message", ""), what="half done")


def value(tenant: Tenant, name: str, expected: str) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        found = await tenant.owned(CONFIG_MAPS)
        return ("ConfigMap", name) in found and found["ConfigMap", name]["data"] == {"v": expected}

    return look


async def drifts(tenant: Tenant, name: str) -> None:
    body = b'{"data":{"v":"theirs"}}'
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, name, body, field_manager="somebody")


async def test_half_upgrade_names_the_objects_of_the_new_content(tenant: Tenant, operator: Operator) -> None:
    found = await half_upgraded(tenant)
    status = found["status"]
    message = condition(found, "Installed")["message"]
    wanted = [name for _, name in await tenant.owned(BUNDLES) if name != status["activeBundle"]]
    assert f"3 of 4 objects are those of {wanted[0]} (" in message
    assert f"ConfigMap {tenant.namespace}/both" in message
    assert f"all others stay as {status['activeBundle']} has them" in message


async def test_drift_of_either_content_is_corrected(tenant: Tenant, operator: Operator) -> None:
    await half_upgraded(tenant)
    for name, expected in (("dropped", "1"), ("both", "2")):
        await drifts(tenant, name)
        await eventually(value(tenant, name, expected), what=f"drift of {name} is corrected")
    await tenant.admin.delete(CONFIG_MAPS, tenant.namespace, "dropped")
    await eventually(value(tenant, "dropped", "1"), what="what only the old content has is made again")


async def test_after_a_failed_post_upgrade_hook_the_new_content_is_told_and_kept(
    tenant: Tenant, operators: StartOperator, helm: HelmProgram
) -> None:
    await operators(arguments=[f"--helm={helm.path}", "--hook-timeout=2"]).start()
    old = "---\n".join(templates(v="1", names=("both", "dropped")))
    await deploy(tenant, await publish(tenant, old, "v1"))
    await tenant.ready()
    new = "---\n".join([*templates(v="2", names=("both", "added")), job_hook("hangs", "post-upgrade")])
    await deploy(tenant, await publish(tenant, new, "v2"))
    found = await tenant.until(lambda one: HALF in condition(one, "Installed").get("message", ""), what="half done")
    assert "all 2 objects are those of " in condition(found, "Installed")["message"]
    assert condition(found, "Stalled")["status"] == "True"
    for name, expected in (("both", "2"), ("added", "2"), ("dropped", "1")):
        await drifts(tenant, name)
        await eventually(value(tenant, name, expected), what=f"drift of {name} is corrected")


def templates(*, v: str, names: tuple[str, ...]) -> list[str]:
    return [orjson.dumps(config_map(name, v=v)).decode() + "\n" for name in names]

"""A delete that is forbidden is told and tried again, and nothing pretends to be done."""

import orjson

from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.resources import CONFIG_MAPS
from tests.integration.operator.charts import deploy, publish
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.forbidding import WORDS, allow, forbid
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import config_map
from tests.unit.charts import config_map as template
from tests.unit.charts import hook


async def test_a_prune_that_is_denied_is_told_and_tried_again(tenant: Tenant, operator: Operator) -> None:
    kept, dropped = (config_map(name, tenant.namespace, v="1") for name in ("kept", "dropped"))
    await tenant.publish("v1", [kept, dropped])
    await tenant.publish("v2", [kept])
    await tenant.deploy("v1")
    await tenant.ready()
    await forbid(tenant, "DELETE", CONFIG_MAPS)
    try:
        await tenant.deploy("v2")
        told = await tenant.until(lambda one: WORDS in condition(one, "Ready").get("message", ""), what="the refusal")
        assert condition(told, "Ready")["status"] == "False"
        assert f"ConfigMap {tenant.namespace}/dropped" in condition(told, "Ready")["message"]
        assert condition(told, "Installed")["status"] == "True"
        assert ("ConfigMap", "dropped") in await tenant.owned(CONFIG_MAPS)
    finally:
        await allow(tenant)

    await tenant.gone(CONFIG_MAPS, "dropped", tenant.namespace)
    await tenant.ready()
    assert list(await tenant.owned(CONFIG_MAPS)) == [("ConfigMap", "kept")]


async def test_a_hook_that_may_not_go_as_its_policy_says_is_told_and_tried_again(
    tenant: Tenant, operators: StartOperator, helm: HelmProgram
) -> None:
    operator = operators(arguments=[f"--helm={helm.path}"])
    await operator.start()
    dropped = config_map("dropped", tenant.namespace)
    await tenant.admin.create(CONFIG_MAPS, tenant.namespace, orjson.dumps(dropped))
    await forbid(tenant, "DELETE", CONFIG_MAPS)
    try:
        policy = {"delete-policy": "hook-succeeded"}
        chart = f"{hook('account', 'pre-install', **policy)}---\n{template('settings')}"
        await deploy(tenant, await publish(tenant, chart))
        found = await tenant.until(lambda seen: WORDS in condition(seen, "Ready").get("message", ""), what="it is told")
        assert f"pre-install hook: ConfigMap {tenant.namespace}/account" in condition(found, "Installed")["message"]
        assert list(await tenant.owned(CONFIG_MAPS)) == []
    finally:
        await allow(tenant)
    await tenant.gone(CONFIG_MAPS, "account", tenant.namespace)
    await tenant.ready()

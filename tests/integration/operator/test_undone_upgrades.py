"""Upgrades that fail half way, at a hook or for good: undone from wherever they stand, or kept where a gate refuses."""

from typing import Any

import orjson

from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.resources import CONFIG_MAPS, CRDS
from tests.integration.listing import listed
from tests.integration.operator import charts
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.operator.test_failed_upgrades import ROLLBACK, is_rolled_back, rolled_back, workload
from tests.integration.operator.test_going_back import EVENTS
from tests.integration.operator.test_half_done import namespace, rival_services
from tests.manifests import Document, config_map
from tests.unit.bundles import crd
from tests.unit.charts import config_map as template
from tests.unit.charts import hook, job_hook
from tests.waiting import eventually


async def until_values(tenant: Tenant, expected: dict[str, Any]) -> None:
    async def look() -> bool:
        found = await tenant.owned(CONFIG_MAPS)
        return {name: one.get("data") for (_, name), one in found.items()} == expected

    await eventually(look, what=f"the ConfigMaps are {expected}")


async def test_half_an_upgrade_is_undone(tenant: Tenant, operator: Operator) -> None:
    """One of two Services is refused only when it is applied, at each attempt."""
    new = f"{tenant.namespace}-new"
    await tenant.publish("v1", [config_map(name, tenant.namespace, v="1") for name in ("both", "dropped")])
    services = await rival_services(tenant, new)
    await tenant.publish("v2", [config_map("both", tenant.namespace, v="2"), namespace(new), *services])
    await tenant.deploy("v1", upgrades=ROLLBACK)
    await tenant.ready()
    await tenant.deploy("v2", upgrades=ROLLBACK)
    deployment = await tenant.until(is_rolled_back, what="rolled back", seconds=80)
    await until_values(tenant, {"both": {"v": "1"}, "dropped": {"v": "1"}})
    assert [(one["revision"], one["outcome"]) for one in deployment["status"]["history"]] == [
        (2, "Healthy"),
    ]
    assert condition(deployment, "Installed")["status"] == "True"


async def test_failed_hook_before_an_upgrade_leaves_what_is_installed(
    tenant: Tenant, operators: StartOperator, helm: HelmProgram
) -> None:
    await operators(arguments=[f"--helm={helm.path}", "--hook-timeout=1"]).start()
    await charts.deploy(tenant, await charts.publish(tenant, template("settings", '"one"'), "v1"), upgrades=ROLLBACK)
    await tenant.ready()
    second = "---\n".join([template("settings", '"two"'), job_hook("hangs", "pre-upgrade")])
    await charts.deploy(tenant, await charts.publish(tenant, second, "v2"), upgrades=ROLLBACK)
    deployment = await rolled_back(tenant)
    assert "hangs" in deployment["status"]["rollback"]["reason"]
    await until_values(tenant, {"settings": {"value": "one"}})
    assert [one["revision"] for one in deployment["status"]["history"]] == [2]

    third = await charts.publish(tenant, template("settings", '"three"'), "v3")
    await charts.deploy(tenant, third, upgrades=ROLLBACK)
    await until_values(tenant, {"settings": {"value": "three"}})
    repaired = await tenant.ready()
    assert "rollback" not in repaired["status"]
    assert [one["revision"] for one in repaired["status"]["history"]] == [3, 2]


async def test_chart_runs_its_hooks_of_rollbacks_by_itself(
    tenant: Tenant, operators: StartOperator, helm: HelmProgram
) -> None:
    await operators(arguments=[f"--helm={helm.path}"]).start()
    hooks = [hook("before", "pre-rollback"), hook("after", "post-rollback")]
    first = "---\n".join([template("settings", '"one"'), *hooks])
    await charts.deploy(tenant, await charts.publish(tenant, first, "v1"), upgrades=ROLLBACK)
    await tenant.ready()
    bad = orjson.dumps(workload(tenant.namespace, "web:bad")).decode()
    second = "---\n".join([template("settings", '"two"'), f"{bad}\n"])
    await charts.deploy(tenant, await charts.publish(tenant, second, "v2"), upgrades=ROLLBACK)
    deployment = await rolled_back(tenant)
    assert [(one["event"], one["name"], one["result"]) for one in deployment["status"]["hooks"]] == [
        ("pre-rollback", "before", "Succeeded"),
        ("post-rollback", "after", "Succeeded"),
    ]
    assert [one["revision"] for one in deployment["status"]["history"]] == [3, 2, 1]


def stored_as(definition: Document, version: str) -> Document:
    versions = definition["spec"]["versions"]
    schema = versions[0]["schema"]
    names = dict.fromkeys(["v1", version])
    definition["spec"]["versions"] = [
        {"name": one, "served": True, "storage": one == version, "schema": schema} for one in names
    ]
    return definition


async def test_rollback_that_a_gate_refuses_keeps_the_upgrade(tenant: Tenant, operator: Operator) -> None:
    """The former CRD lacks the version that objects are stored in by now."""
    group = f"{tenant.name}.example.com"
    await tenant.publish("one", [crd(group=group), config_map("a", tenant.namespace, version="one")])
    bad = workload(tenant.namespace, "web:bad")
    second = [stored_as(crd(group=group), "v2"), config_map("a", tenant.namespace, version="two"), bad]
    await tenant.publish("two", second)
    await tenant.deploy("one", upgrades=ROLLBACK)
    await tenant.ready()
    await tenant.deploy("two", upgrades=ROLLBACK)
    deployment = await tenant.until(
        lambda found: (found["status"].get("upgrade") or {}).get("keptBecause"), what="it is kept"
    )
    assert "stored" in deployment["status"]["upgrade"]["keptBecause"]
    assert "rollback" not in deployment["status"]
    await until_values(tenant, {"a": {"version": "two"}})
    definition = await tenant.read(CRDS, "", f"demos.{group}")
    assert [one["name"] for one in definition["spec"]["versions"]] == ["v1", "v2"]

    async def is_told() -> bool:
        found = await listed(tenant.admin, EVENTS)
        return any(one["regarding"]["name"] == tenant.name and one["reason"] == "RollbackRefused" for one in found)

    await eventually(is_told, what="an Event says why")
    found = await tenant.deployment()
    assert "stays, because the revision before it cannot be installed again" in condition(found, "Installed")["message"]

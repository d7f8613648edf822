"""The rendering of a chart counts, whatever happens to the operator: it is made once, kept, and never guessed."""

import shutil
import stat
from pathlib import Path
from typing import Any, Protocol

import orjson
import pytest

from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.resources import CONFIG_MAPS
from tests.integration.operator.charts import deploy, publish
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import config_map
from tests.unit.charts import config_map as template
from tests.waiting import eventually

EDIT = b'{"data":{"value":"edited"}}'
RANDOM = template("settings", "(randAlphaNum 20)")
# A range over a range of lists: it ends, some day.
ENDLESS = "{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}"
HELM_SECONDS = 20


class StartOperator(Protocol):
    def __call__(self, **given: Any) -> Operator: ...


@pytest.fixture
async def operator(operators: StartOperator, helm: HelmProgram) -> Operator:
    operator = operators(arguments=[f"--helm={helm.path}"])
    await operator.start()
    return operator


async def value(tenant: Tenant) -> str:
    found: str = (await tenant.read(CONFIG_MAPS, tenant.namespace, "settings"))["data"]["value"]
    return found


async def edit(tenant: Tenant) -> None:
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "settings", EDIT, field_manager="somebody")


async def until_value(tenant: Tenant, *, is_one: str = "", is_not: str = "") -> None:
    async def look() -> bool:
        found = await value(tenant)
        return found == is_one if is_one else found not in {is_not, "edited"}

    await eventually(look, what=f"the value is {is_one or 'another one'}")


def renderings(operator: Operator) -> list[Path]:
    return list((operator.store / "renderings").iterdir())


async def test_random_value_stays_the_same_after_a_restart(tenant: Tenant, operator: Operator) -> None:
    await deploy(tenant, await publish(tenant, RANDOM))
    before = (await tenant.ready())["status"]["history"]
    password = await value(tenant)
    (file,) = renderings(operator)
    assert (stat.S_IMODE(file.stat().st_mode), stat.S_IMODE(file.parent.stat().st_mode)) == (0o600, 0o700)
    await operator.stop()
    await edit(tenant)
    await operator.start()
    await until_value(tenant, is_one=password)
    assert (await tenant.ready())["status"]["history"] == before


async def test_a_rendering_that_is_lost_is_told_and_nothing_is_guessed(tenant: Tenant, operator: Operator) -> None:
    items = await publish(tenant, RANDOM)
    await deploy(tenant, items)
    await tenant.ready()
    password = await value(tenant)
    await operator.stop()
    shutil.rmtree(operator.store)
    await operator.start()
    await tenant.ready()  # nothing has drifted, so it is not needed
    await edit(tenant)
    text = (
        "the rendering that was installed is lost, and rendering the chart again gives different objects: drift is not"
    )
    found = await tenant.until(lambda seen: text in condition(seen, "Installed").get("message", ""), what="it is told")
    assert condition(found, "Ready")["status"] == "False"
    assert await value(tenant) == "edited"

    await deploy(tenant, items, config={"values": "any: thing"})
    await until_value(tenant, is_not=password)
    assert len((await tenant.ready())["status"]["history"]) == 2


async def test_while_its_successor_is_refused_a_lost_rendering_is_told_too(tenant: Tenant, operator: Operator) -> None:
    await deploy(tenant, await publish(tenant, RANDOM))
    await tenant.ready()
    await operator.stop()
    shutil.rmtree(operator.store)
    await edit(tenant)
    await deploy(tenant, await publish(tenant, template("taken"), name="next"))
    body = orjson.dumps(config_map("taken", tenant.namespace))
    await tenant.admin.create(CONFIG_MAPS, tenant.namespace, body, field_manager="somebody")
    await operator.start()
    texts = ("the rendering that was installed is lost", "exists and is not managed by anyone")
    await tenant.until(
        lambda seen: all(text in condition(seen, "Installed").get("message", "") for text in texts),
        what="both are told, once the successor is rendered",
    )


async def test_a_rendering_that_is_lost_and_comes_out_the_same_goes_on(tenant: Tenant, operator: Operator) -> None:
    await deploy(tenant, await publish(tenant, template("settings", ".Release.IsInstall")))
    await tenant.ready()
    await operator.stop()
    shutil.rmtree(operator.store)
    await edit(tenant)
    await operator.start()
    await until_value(tenant, is_one="true")
    await tenant.ready()


async def test_without_helm_only_charts_wait(tenant: Tenant, operators: StartOperator, helm: HelmProgram) -> None:
    operator = operators(environment={"RUKPAK_HELM": "/nonexistent/helm"})
    await operator.start()
    await deploy(tenant, await publish(tenant, RANDOM))
    text = "charts are rendered by helm, and there is no program '/nonexistent/helm'. Install helm 3.16 or newer"
    found = await tenant.until(lambda seen: text in condition(seen, "HasValidBundle").get("message", ""), what="told")
    assert condition(found, "Reconciling")["status"] == "True"
    await tenant.publish("plain", [config_map("plain", tenant.namespace)])
    await tenant.deploy("plain", name=f"{tenant.name}-plain")
    await tenant.ready(name=f"{tenant.name}-plain")


async def test_hanging_chart_holds_no_other_deployment(
    tenant: Tenant, operators: StartOperator, helm: HelmProgram
) -> None:
    """It does not hold the end of the process either."""
    limit = {"RUKPAK_LIMIT_HELM_SECONDS": str(HELM_SECONDS)}
    operator = operators(arguments=[f"--helm={helm.path}"], environment=limit)
    await operator.start()
    await deploy(tenant, await publish(tenant, ENDLESS))
    await tenant.until(
        lambda seen: condition(seen, "Ready").get("message", "") == "Rendering bundle content", what="it hangs"
    )
    await tenant.publish("plain", [config_map("plain", tenant.namespace)])
    await tenant.deploy("plain", name=f"{tenant.name}-plain")
    await tenant.ready(name=f"{tenant.name}-plain")
    assert condition(await tenant.deployment(), "Ready")["message"] == "Rendering bundle content"
    text = f"the time (in seconds) to render the chart exceeds the limit of {HELM_SECONDS}"
    await tenant.until(
        lambda seen: text in condition(seen, "HasValidBundle").get("message", ""), what="it is told", seconds=60
    )
    assert condition(await tenant.deployment(), "Stalled")["reason"] == "ContentError"

    await deploy(tenant, await publish(tenant, f"{ENDLESS} ", name="again"))
    await tenant.until(
        lambda seen: condition(seen, "Ready").get("message", "") == "Rendering bundle content", what="it hangs"
    )
    assert await operator.stop() == 0

"""Two releases of one chart share its CRDs: what they know of that outlives the operator, and costs nothing."""

import shutil
from contextlib import suppress

import orjson
import pytest

from rukpak_py.api.names import OWNER_NAME_LABEL
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import CONFIG_MAPS, CRDS
from tests.integration.listing import listed
from tests.integration.operator.charts import barrier, deploy, publish
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.tenant import Tenant, condition, is_ready
from tests.integration.scenarios.stage import EVENTS
from tests.manifests import Document, crd
from tests.unit.charts import config_map as template
from tests.waiting import eventually


@pytest.mark.parametrize("by", ["its configuration", "its next version"])
async def test_second_deployment_goes_on_when_the_first_releases_the_crds(
    tenant: Tenant, operators: StartOperator, helm: HelmProgram, by: str
) -> None:
    """They are not managed any more: that is told, and the second corrects what it has as before."""
    operator = operators(arguments=[f"--helm={helm.path}"])
    await operator.start()
    definition = crd(f"{tenant.name}.example.com")
    key = definition["metadata"]["name"]
    items = await publish(tenant, template("{{ .Release.Name }}"), crds=orjson.dumps(definition).decode())
    second = f"{tenant.name}-second"
    await deploy(tenant, items)
    await tenant.ready()
    await deploy(tenant, items, name=second)
    before = (await tenant.ready(name=second))["status"]["history"]
    made = await tenant.read(CRDS, "", key)
    if by == "its configuration":
        await deploy(tenant, items, config={"crds": "Create"})
    else:
        await deploy(tenant, await publish(tenant, template("{{ .Release.Name }}"), name="without"))
    told = f"{key}: in this bundle too, and not, or no longer, managed by a BundleDeployment; left as it is"

    def is_told(seen: Document) -> bool:
        return told in condition(seen, "Installed").get("message", "") and is_ready(seen)

    await tenant.until(is_told, what="the second tells it and is Ready", name=second)
    assert OWNER_NAME_LABEL not in (await tenant.read(CRDS, "", key))["metadata"].get("labels", {})
    for restarts in (False, True):
        if restarts:
            await operator.stop()
            await operator.start()
        await tenant.admin.delete(CONFIG_MAPS, tenant.namespace, second)

        async def is_back() -> bool:
            with suppress(NotFoundError):
                return bool(await tenant.admin.get(CONFIG_MAPS, tenant.namespace, second))
            return False

        await eventually(is_back, what="drift of the second is corrected")
        seen = await tenant.until(is_told, what="the second is Ready", name=second)
        assert seen["status"]["history"] == before
    found = await listed(tenant.admin, EVENTS, field_selector=f"regarding.name={second}")
    assert "Conflict" not in {one["reason"] for one in found}
    assert [one["type"] for one in found if one["reason"] == "SharedUnowned"] == ["Warning"]

    await deploy(tenant, items, name=second, adopt="IfUnowned")
    await tenant.until(lambda seen: is_ready(seen) and not is_told(seen), what="the second has it", name=second)
    after = (await tenant.read(CRDS, "", key))["metadata"]
    assert (after["uid"], after["labels"][OWNER_NAME_LABEL]) == (made["metadata"]["uid"], second)
    await tenant.admin.delete(CRDS, "", key)


async def test_a_restart_with_lost_storage_finds_them_shared(
    tenant: Tenant, operators: StartOperator, helm: HelmProgram
) -> None:
    """The chart is random: to render it anew for what is shared is no reason to say that its rendering is lost."""
    operator = operators(arguments=[f"--helm={helm.path}"])
    await operator.start()
    definition = crd(f"{tenant.name}.example.com")
    random = template("{{ .Release.Name }}", "(randAlphaNum 20)")
    items = await publish(tenant, random, crds=orjson.dumps(definition).decode())
    second = f"{tenant.name}-second"
    await deploy(tenant, items)
    await tenant.ready()
    await deploy(tenant, items, name=second)
    before = await tenant.ready(name=second)
    assert "in this bundle too, and the same" in condition(before, "Installed")["message"]
    for loses_storage in (False, True):
        await operator.stop()
        if loses_storage:
            shutil.rmtree(operator.store)
        await operator.start()
        await barrier(tenant, f"barrier-{operator.starts}")
        after = await tenant.ready(name=second)
        assert after["status"]["history"] == before["status"]["history"]
        metadata = (await tenant.read(CRDS, "", definition["metadata"]["name"]))["metadata"]
        assert metadata["labels"]["core.rukpak.io/owner-name"] == tenant.name
    found = await listed(tenant.admin, EVENTS, field_selector=f"regarding.name={second}")
    told = [(one["reason"], (one.get("deprecatedCount") or 1)) for one in found if one["reason"] == "Shared"]
    assert told == [("Shared", 1)]
    await tenant.admin.delete(CRDS, "", definition["metadata"]["name"])

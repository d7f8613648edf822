"""Two releases of one chart share its CRDs: what they know of that outlives the operator, and costs nothing."""

import shutil

import orjson

from rukpak_py.formats.helm.program import HelmProgram
from rukpak_py.kube.resources import CRDS
from tests.integration.listing import listed
from tests.integration.operator.charts import barrier, deploy, publish
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.scenarios.stage import EVENTS
from tests.manifests import crd
from tests.unit.charts import config_map as template


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

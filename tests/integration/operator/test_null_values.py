"""A null in the values of a chart drops a default, and a restart of the operator is no upgrade for it.

A status is written by merge patches, where null deletes: what is recorded has to be a form that keeps it.
"""

import shutil
from typing import Any

import pytest

from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.resources import CONFIG_MAPS, SECRETS
from tests.integration.listing import listed
from tests.integration.operator.charts import barrier, deploy, publish
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.tenant import Tenant
from tests.integration.scenarios.stage import EVENTS
from tests.unit.charts import hook

CHART = f"""
apiVersion: v1
kind: Secret
metadata: {{name: password}}
stringData:
  password: {{{{ randAlphaNum 20 | quote }}}}
  dropped: {{{{ .Values.a.b | toJson | quote }}}}
---
{hook("hook", "post-install,post-upgrade,pre-upgrade")}
"""
VALUES: dict[str, Any] = {"a": {"b": None, "c": [None, {"d": None}]}, "e": None}
FORMS = {"object": VALUES, "string": "a: {b: null, c: [null, {d: ~}]}\ne: null\n"}


@pytest.mark.parametrize("loses_storage", [False, True], ids=["storage kept", "storage lost"])
@pytest.mark.parametrize("form", FORMS)
async def test_a_restart_is_no_upgrade(
    tenant: Tenant, operators: StartOperator, helm: HelmProgram, form: str, *, loses_storage: bool
) -> None:
    operator = operators(arguments=[f"--helm={helm.path}"])
    await operator.start()
    await deploy(tenant, await publish(tenant, CHART), config={"values": FORMS[form]})
    before = await tenant.ready()
    if form == "object":
        assert before["spec"]["config"]["values"] == VALUES, "the API server keeps it"
    secret = await tenant.read(SECRETS, tenant.namespace, "password")
    of_hook = await tenant.read(CONFIG_MAPS, tenant.namespace, "hook")
    await operator.stop()
    if loses_storage:
        shutil.rmtree(operator.store)
    await operator.start()
    await barrier(tenant, f"barrier-{operator.starts}")
    after = await tenant.ready()
    for field in ("history", "hooks", "activeBundle", "appliedDigest"):
        assert after["status"].get(field) == before["status"].get(field)
    assert (await tenant.read(SECRETS, tenant.namespace, "password"))["data"] == secret["data"]
    found = await tenant.read(CONFIG_MAPS, tenant.namespace, "hook")
    assert found["metadata"]["uid"] == of_hook["metadata"]["uid"]
    events = await listed(tenant.admin, EVENTS, field_selector=f"regarding.name={tenant.name}")
    assert not {one["reason"] for one in events} & {"Upgraded", "HooksBeginAgain", "UpgradeFailed", "ReconcileFailed"}

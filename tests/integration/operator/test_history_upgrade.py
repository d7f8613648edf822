"""The last operator that recorded the configuration as an object, whose nulls the API server drops, and today's.

What it installed is not installed again by today's, and neither by a restart of today's.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import BUNDLES, CONFIG_MAPS
from tests.integration.definitions import definitions, install
from tests.integration.operator import charts
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.counting import Calls, has_seen, settled
from tests.integration.operator.process import Operator
from tests.integration.operator.releases import code_of, writes
from tests.integration.operator.tenant import Tenant
from tests.integration.operator.test_helm_values_from import events, were_told
from tests.manifests import Document, config_map

LAST_WITHOUT_REVISIONS = "8d19fdf378151b132a5a2d996f2f4b3057d9df14"
TEMPLATE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {values: {{ .Values | toJson | quote }}, token: {{ randAlphaNum 12 }}}
"""
NULLS = {"values": {"list": [{"a": None, "b": 1}], "none": None, "some": {"c": None}}}
WITHOUT = {"values": {"list": [{"b": 1}], "some": {}}}
STATUS = ("patch", "bundledeployments/status", "200")
PLAIN_CONFIG_MAP = "plain"


@pytest.fixture(scope="module")
def former_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return code_of(LAST_WITHOUT_REVISIONS, tmp_path_factory.mktemp("without-revisions"))


@pytest.fixture
async def operator(
    admin: Client, operators: StartOperator, former_code: Path, helm: HelmProgram
) -> AsyncIterator[Operator]:
    """The former one, until it is upgraded: with the same volume."""
    await install(admin, definitions(former_code / "config/crds"))
    operator = operators(tree=former_code, arguments=[f"--helm={helm.path}"])
    await operator.start()
    yield operator
    await install(admin, definitions())


async def written_after_start(operator: Operator) -> Calls:
    await operator.start()
    await has_seen(operator, ("configmaps",), 0)
    return writes(await settled(operator))


async def version_of(tenant: Tenant, name: str) -> str:
    version: str = (await tenant.read(CONFIG_MAPS, tenant.namespace, name))["metadata"]["resourceVersion"]
    return version


async def deploy_both(tenant: Tenant) -> str:
    """A chart with nulls in its values, and plain content; the name of the latter."""
    await charts.deploy(tenant, await charts.publish(tenant, TEMPLATE), config=NULLS)
    await tenant.publish("v1", [config_map(PLAIN_CONFIG_MAP, tenant.namespace, v="1")])
    plain = f"plain-{tenant.namespace}"
    await tenant.deploy("v1", name=plain)
    await tenant.ready()
    await tenant.ready(name=plain)
    return plain


async def reasons(tenant: Tenant) -> list[str]:
    """The reasons of all Events of the deployment."""
    return sorted(one["reason"] for one in await events(tenant))


def history(deployment: Document) -> list[Document]:
    found: list[Document] = deployment["status"]["history"]
    return found


async def test_a_status_whose_nulls_were_lost_is_no_upgrade(tenant: Tenant, operator: Operator) -> None:
    plain = await deploy_both(tenant)
    await settled(operator)
    before, *former = history(await tenant.deployment())  # that operator may have upgraded for the nulls by itself
    plain_before = (await tenant.deployment(plain))["status"]
    assert before["options"]["config"] == WITHOUT, "the API server has dropped the nulls"
    versions = [await version_of(tenant, name) for name in ("settings", PLAIN_CONFIG_MAP)]
    told = await reasons(tenant)
    await operator.stop()
    operator.upgrade()
    await install(tenant.admin, definitions())

    assert await written_after_start(operator) == {STATUS: 2}, "the values of the chart, and a condition that is new"
    after, *_ = history(await tenant.deployment())
    assert orjson.loads(after["options"].pop("valuesJSON")) == NULLS
    assert after["time"] == before["time"]
    plain_after = (await tenant.deployment(plain))["status"]
    conditions = [one for one in plain_after["conditions"] if one["type"] != "UpgradePending"]
    assert {**plain_after, "conditions": conditions} == plain_before
    await operator.stop()

    assert await written_after_start(operator) == {}
    assert [await version_of(tenant, name) for name in ("settings", PLAIN_CONFIG_MAP)] == versions
    assert len(history(await tenant.deployment())) == 1 + len(former)
    assert await reasons(tenant) == told


async def test_revisions_go_on_from_those_of_the_former_operator(tenant: Tenant, operator: Operator) -> None:
    plain = await deploy_both(tenant)
    await tenant.publish("v2", [config_map(PLAIN_CONFIG_MAP, tenant.namespace, v="2")])
    await tenant.deploy("v2", name=plain)
    await tenant.ready(name=plain)
    await operator.stop()
    operator.upgrade()
    await install(tenant.admin, definitions())
    await operator.start()
    await tenant.publish("v3", [config_map(PLAIN_CONFIG_MAP, tenant.namespace, v="3")])
    await tenant.deploy("v3", name=plain)

    found = await tenant.ready(name=plain)
    assert [entry["revision"] for entry in history(found)] == [3, 2, 1]
    assert [entry.get("outcome") for entry in history(found)] == ["Healthy", None, None]


async def test_a_restart_with_nulls_in_the_values_is_no_upgrade(
    tenant: Tenant, operators: StartOperator, helm: HelmProgram
) -> None:
    operator = operators(arguments=[f"--helm={helm.path}"])
    await operator.start()
    await charts.deploy(tenant, await charts.publish(tenant, TEMPLATE), config=NULLS)
    before = (await tenant.ready())["status"]
    (entry,) = before["history"]
    assert (entry["revision"], entry["outcome"], entry["version"]) == (1, "Healthy", "1.0.0")
    assert (before["version"], before["content"]) == ("1.0.0", {"name": "web", "version": "1.0.0"})
    assert orjson.loads(entry["options"]["valuesJSON"]) == NULLS
    version = await version_of(tenant, "settings")
    bundles = await tenant.owned(BUNDLES)
    for _ in range(2):
        await settled(operator)
        await operator.stop()
        assert await written_after_start(operator) == {}
    assert (await tenant.deployment())["status"] == before
    assert await version_of(tenant, "settings") == version
    assert await tenant.owned(BUNDLES) == bundles
    await were_told(tenant, "Installed")

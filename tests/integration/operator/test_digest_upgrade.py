"""The last operator whose `status.appliedDigest` had the former form, and the one of today after it.

What it installed is proven by that digest alone: today's applies nothing, and records the present form once.
"""

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from rukpak_py.controllers.deployment.applied_digest import SCHEME
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import CONFIG_MAPS, CRDS, SECRETS, Resource
from tests.integration.definitions import definitions, install
from tests.integration.operator import charts
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.counting import Calls, calls, settled
from tests.integration.operator.olm import published
from tests.integration.operator.process import Operator
from tests.integration.operator.releases import code_of, writes
from tests.integration.operator.tenant import SERVICES, WORKLOADS, Tenant
from tests.integration.operator.test_helm_values_from import CONFIG, TEMPLATE, put_values
from tests.integration.operator.test_registry_calls import VALIDATING, hook
from tests.manifests import Document, config_map, service, workload
from tests.waiting import eventually

LAST_WITH_FORMER_DIGEST = "1016cbbe721af48e330a1b78533bdcb2c96da643"
RBAC = {"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings"}
CLUSTER_SCOPED = tuple(
    Resource(gvk=GroupVersionKind("rbac.authorization.k8s.io", "v1", kind), plural=plural, namespaced=False)
    for kind, plural in RBAC.items()
)
ACCOUNTS = Resource(gvk=GroupVersionKind("", "v1", "ServiceAccount"), plural="serviceaccounts", namespaced=True)
KINDS = (CONFIG_MAPS, SERVICES, WORKLOADS, ACCOUNTS, CRDS, SECRETS, VALIDATING, *CLUSTER_SCOPED)
STATUS = ("patch", "bundledeployments/status", "200")
WRITES = 4  # one for each deployment, and one when the OLM bundle is rendered for its certificates: its version

CONVERTED = {("patch", "customresourcedefinitions", "200"): 2}  # annotations in the place of the owner reference


class Deployments:
    """Plain content, a chart with values from elsewhere, and an OLM bundle with webhooks."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant
        self.plain, self.chart, self.olm = f"plain-{tenant.namespace}", tenant.name, f"olm-{tenant.namespace}"

    @property
    def names(self) -> tuple[str, ...]:
        return self.plain, self.chart, self.olm

    async def install(self) -> None:
        tenant, namespace = self._tenant, self._tenant.namespace
        objects = [config_map("plain", namespace, v="1"), service("web", namespace), workload("web", namespace)]
        await tenant.publish("v1", objects)
        await tenant.deploy("v1", name=self.plain, prune={"enabled": False})
        await put_values(tenant)
        await charts.deploy(tenant, await charts.publish(tenant, TEMPLATE), config=CONFIG)
        await tenant.deploy(name=self.olm, **await published(tenant, self.olm, webhooks=[hook(self.olm)]))
        for name in self.names:
            await tenant.ready(name=name)

    async def statuses(self) -> dict[str, Document]:
        return {name: (await self._tenant.deployment(name))["status"] for name in self.names}

    async def identities(self) -> dict[tuple[str, str, str], tuple[str, str]]:
        """The uid and resourceVersion of each of their objects."""
        found = {name: await self._tenant.owned(*KINDS, name=name) for name in self.names}
        return {
            (name, *key): (one["metadata"]["uid"], one["metadata"]["resourceVersion"])
            for name, objects in found.items()
            for key, one in objects.items()
        }

    async def have_the_present_form(self) -> bool:
        return all(one["appliedDigest"].startswith(SCHEME) for one in (await self.statuses()).values())


@pytest.fixture(scope="module")
def former_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return code_of(LAST_WITH_FORMER_DIGEST, tmp_path_factory.mktemp("former-digest"))


@pytest.fixture
async def operator(
    admin: Client, operators: StartOperator, former_code: Path, helm: HelmProgram
) -> AsyncIterator[Operator]:
    """The former one, until it is upgraded: on the same ports, with the same volume."""
    await install(admin, definitions(former_code / "config/crds"))
    operator = operators(tree=former_code, arguments=[f"--helm={helm.path}"])
    await operator.start()
    yield operator
    await install(admin, definitions())


def in_former_form(status: Document) -> Document:
    """The status without the digest and new fields, with options as that operator recorded them, without nulls here."""
    (entry,) = status["history"]
    recorded = {name: value for name, value in entry["options"].items() if name not in {"valuesJSON", "configDigest"}}
    if "valuesJSON" in entry["options"]:
        recorded["config"] = orjson.loads(entry["options"]["valuesJSON"])
    known = {name: value for name, value in status.items() if name not in {"version", "content"}}
    former = {name: value for name, value in entry.items() if name not in {"revision", "version"}}
    conditions = [one for one in status["conditions"] if one["type"] != "UpgradePending"]
    return known | {"conditions": conditions, "appliedDigest": "", "history": [former | {"options": recorded}]}


async def written_after_start(operator: Operator) -> Calls:
    """The writes after its start, with dry-runs, until it is at rest."""
    await operator.start()

    async def has_looked_at_all() -> bool:
        """The last thing that it does for what an OLM bundle asks of it; the others need no rendering."""
        sent = await calls(operator)
        return sent["get", VALIDATING.plural, "200"] > 0

    await eventually(has_looked_at_all, what="what calls the webhooks was read")
    return writes(await settled(operator))


async def test_content_that_the_former_digest_proves_is_not_applied_again_and_gets_the_present_digest_once(
    tenant: Tenant, operator: Operator
) -> None:
    deployments = Deployments(tenant)
    await deployments.install()
    await settled(operator)
    before, objects = await deployments.statuses(), await deployments.identities()
    assert Counter(name for name, _, _ in objects) == {deployments.plain: 3, deployments.chart: 2, deployments.olm: 7}
    assert {one["appliedDigest"].partition(":")[0] for one in before.values()} == {"sha256"}
    await operator.stop()
    operator.upgrade()
    await install(tenant.admin, definitions())

    assert await written_after_start(operator) == {STATUS: WRITES, **CONVERTED}
    assert await deployments.have_the_present_form()
    now = await deployments.identities()
    assert {kind for _, kind, _ in (key for key in now if now[key] != objects[key])} == {"CustomResourceDefinition"}
    assert now.keys() == objects.keys()
    after = await deployments.statuses()
    assert [in_former_form(one) for one in after.values()] == [in_former_form(one) for one in before.values()]
    await operator.stop()

    assert await written_after_start(operator) == {}
    assert await deployments.statuses() == after
    assert await deployments.identities() == now


async def test_content_that_the_former_digest_does_not_prove_is_applied(tenant: Tenant, operator: Operator) -> None:
    deployments = Deployments(tenant)
    await deployments.install()
    await operator.stop()
    operator.upgrade()
    await install(tenant.admin, definitions())
    edit = b'{"data":{"v":"edited"}}'
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "plain", edit, field_manager="somebody")

    applied = {("apply", plural, "200"): 1 for plural in ("configmaps", "services", "deployments")}
    sent = await written_after_start(operator)
    # The new form of the annotation makes another generation of the Deployment, which its controller sees a bit later.
    assert sent.pop(STATUS) in {WRITES, WRITES + 1}
    assert sent == {**applied, **CONVERTED}
    assert (await tenant.read(CONFIG_MAPS, tenant.namespace, "plain"))["data"] == {"v": "1"}
    assert await deployments.have_the_present_form()

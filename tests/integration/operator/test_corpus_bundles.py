"""Real OLM bundles of every sort, installed and taken away; `bench/corpus_installs.py` does it with all of them.

Those whose webhooks refuse requests while no pod answers are installed alone. Kinds that they need and no CRD serves
come as empty CRDs.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext

import pytest

from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import NAMESPACES
from tests.corpus.installing import Installer
from tests.corpus.place import BUNDLES, needs_corpus
from tests.corpus.real_bundles import answer_with_archive, can_meet, real_bundle
from tests.integration.cluster_objects import cluster_objects, is_namespace
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.fetching import LOOPBACK
from tests.integration.operator.tenant import Tenant
from tests.unit.web_servers import Server, serving
from tests.waiting import eventually

pytestmark = needs_corpus

TOGETHER = (
    "009-aqua-operator-certified-2022.4.848",  # twelve CRDs; fields that Deployments do not have
    "011-bonree-operator-1.1.0",  # PodDisruptionBudget, a mutating webhook
    "029-fujitsu-enterprise-postgres-operator-with-cg-module-v5.1.0",  # all modes but all namespaces, ServiceMonitor
    "040-ibm-data-reporter-operator-2.24.4",  # requires a kind; a Secret
    "046-instana-agent-operator-v2.0.1",  # a conversion webhook
    "053-leaksignal-operator-1.6.1",  # PriorityClass
    "087-strategy-operator-26.5.0",  # a single namespace only
    "093-truenas-csi-0.1.0",  # NetworkPolicy
    "148-beegfs-csi-driver-operator-1.8.0",  # its own namespace only
    "207-percona-server-mongodb-operator-1.18.0",  # the largest; misspells a mode
    "209-prometheus-exporter-operator-0.3.4",  # ServiceMonitor
    "216-silicom-sts-operator-0.0.1",  # requires two kinds; dependencies
)
ALONE = (
    "023-dynatrace-operator-0.7.1",  # webhooks for pods and namespaces, conversion, unknown fields
    "089-tenant-operator-v0.3.16",  # webhooks for changed and deleted namespaces
    "158-dbaas-operator-0.5.0",  # five conversion webhooks, dependencies
)


@pytest.fixture
def archives() -> Iterator[Server]:
    with serving(answer_with_archive) as server:
        yield server


@pytest.mark.timeout(600)
@pytest.mark.parametrize("names", [TOGETHER, *((name,) for name in ALONE)], ids=["together", *ALONE])
async def test_bundles_of_the_corpus_install_and_leave_nothing(
    names: Sequence[str], admin: Client, tenant: Tenant, operators: StartOperator, archives: Server
) -> None:
    operator = operators(arguments=[LOOPBACK], webhook=False)
    await operator.start()
    bundles = [real_bundle(BUNDLES / name) for name in names]
    before = await cluster_objects(admin)
    installer = Installer(admin, archives.address)
    watches = any(bundle.watch_namespaces for bundle in bundles)
    async with installer.watched_namespace() if watches else nullcontext(), installer.missing_kinds(bundles):
        results = await installer.install(bundles)
        held = await installer.uninstall(bundles)
    assert {result.bundle: result.message for result in results} == dict.fromkeys(names, "")
    assert held == {}

    async def left() -> list[ObjectKey]:
        return sorted(key for key in await cluster_objects(admin) - before if not is_namespace(key))

    async def nothing_left() -> bool:
        return not await left()

    await eventually(nothing_left, what=f"nothing is left, but there is {await left()}")
    for namespace in {key.namespace for bundle in bundles for key in bundle.keys} - {""}:
        await admin.delete(NAMESPACES, "", namespace)


def test_bundles_installed_together_can_meet() -> None:
    bundles = [real_bundle(BUNDLES / name) for name in TOGETHER]
    assert all(can_meet(one, other) for one in bundles for other in bundles if one is not other)
    assert not any(bundle.has_failing_webhooks for bundle in bundles)

"""A newer operator takes over what the first one has installed, and applies nothing of it again."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import CONFIG_MAPS, CRDS, Resource
from tests.integration.definitions import definitions, install
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.counting import Calls, has_seen, settled
from tests.integration.operator.process import Operator
from tests.integration.operator.releases import code_of
from tests.integration.operator.releases import writes as all_writes
from tests.integration.operator.tenant import SERVICES, WORKLOADS, Tenant
from tests.manifests import Document, config_map, crd, service, thing, workload

FIRST_RELEASE = "e625ede721ee610a01bd607f1dc8f6dafddd1372"  # the first commit whose operator installed bundles
# Once for each object: the options of what is installed and the present form of its digest, and where the content of
# the Bundle can be downloaded.
RECORDED = {("patch", "bundledeployments/status", "200"): 1, ("patch", "bundles/status", "200"): 1}
# Once for each Namespace, CRD, claim and volume: annotations in the place of its owner reference.
CONVERTED = {("patch", "customresourcedefinitions", "200"): 2}
NEEDED = frozenset({"secrets", "validatingwebhookconfigurations"})  # certificates: counted by their own tests
Identity = dict[tuple[str, str], tuple[str, str]]  # kind and name: uid and resourceVersion


@pytest.fixture(scope="module")
def first_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return code_of(FIRST_RELEASE, tmp_path_factory.mktemp("first-release"))


@pytest.fixture
async def first_operator(
    admin: Client, operators: StartOperator, first_release: Path, store: Path
) -> AsyncIterator[Operator]:
    """Ready, with its own CRDs; those of today are back afterwards, whatever happened."""
    await install(admin, definitions(first_release / "config/crds"))
    operator = operators(tree=first_release, folder=store)
    await operator.start()
    yield operator
    await install(admin, definitions())


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Both operators have it, one after the other: a volume that outlives a pod."""
    return tmp_path / "store"


@pytest.fixture
def things(tenant: Tenant) -> Resource:
    """The custom resources in the content."""
    group = f"{tenant.name}.example.com"
    return Resource(gvk=GroupVersionKind(group, "v1", "Thing"), plural="things", namespaced=True)


def content(tenant: Tenant, things: Resource, *, v: str) -> list[Document]:
    namespace = tenant.namespace
    return [
        crd(things.gvk.group),
        config_map("settings", namespace, v=v),
        service("web", namespace),
        workload("web", namespace),
        thing(things.gvk.group, "one", namespace),
    ]


def without_namespace(document: Document) -> Document:
    metadata = {name: value for name, value in document["metadata"].items() if name != "namespace"}
    return {**document, "metadata": metadata}


async def identities(tenant: Tenant, *resources: Resource, name: str = "") -> Identity:
    found = await tenant.owned(*resources, name=name)
    return {key: (one["metadata"]["uid"], one["metadata"]["resourceVersion"]) for key, one in found.items()}


def things_crd(things: Resource) -> str:
    return f"{things.plural}.{things.gvk.group}"


def changed(after: Identity, before: Identity) -> set[tuple[str, str]]:
    assert after.keys() == before.keys()
    return {key for key in after if after[key] != before[key]}


async def upgraded(tenant: Tenant, operators: StartOperator, former: Operator, store: Path) -> Calls:
    """The writes and dry-runs of today's operator when it takes over."""
    if former.is_running:
        await former.stop()
    await install(tenant.admin, definitions())
    latest = operators(folder=store)
    await latest.start()
    await has_seen(latest, ("configmaps", "services"), 0)
    return writes(await settled(latest))


def writes(sent: Calls) -> Calls:
    return Calls({call: count for call, count in all_writes(sent).items() if call[1] not in NEEDED})


@pytest.mark.parametrize("store_is_lost", [False, True], ids=["store kept", "store lost"])
async def test_an_upgrade_of_the_operator_applies_nothing(
    tenant: Tenant,
    operators: StartOperator,
    first_operator: Operator,
    things: Resource,
    store: Path,
    *,
    store_is_lost: bool,
) -> None:
    """Its only writes record what the first release did not record."""
    kinds = (CONFIG_MAPS, SERVICES, WORKLOADS, CRDS, things)
    await tenant.publish("v1", content(tenant, things, v="1"))
    await tenant.deploy("v1")
    before = await tenant.ready()
    objects = await identities(tenant, *kinds)
    assert len(objects) == 5
    await first_operator.stop()
    if store_is_lost:
        shutil.rmtree(first_operator.store)

    assert await upgraded(tenant, operators, first_operator, store) == {**RECORDED, **CONVERTED}
    assert changed(await identities(tenant, *kinds), objects) == {("CustomResourceDefinition", things_crd(things))}
    definition = await tenant.read(CRDS, "", things_crd(things))
    assert "ownerReferences" not in definition["metadata"]
    after = await tenant.ready()
    (entry,) = after["status"]["history"]
    assert (entry.pop("options"), entry.pop("revision")) == ({}, 1)
    former, present = before["status"].pop("appliedDigest"), after["status"].pop("appliedDigest")
    conditions = after["status"]["conditions"]
    after["status"]["conditions"] = [one for one in conditions if one["type"] != "UpgradePending"]  # which is new
    assert (former[:7], present[:10]) == ("sha256:", "v2:sha256:")
    assert after["status"] == before["status"]


async def test_options_of_the_first_release_stay_what_they_were(
    tenant: Tenant, operators: StartOperator, first_operator: Operator, store: Path
) -> None:
    objects = [without_namespace(config_map("placed", "")), without_namespace(service("placed", ""))]
    await tenant.publish("v1", objects)
    namespace = f"{tenant.namespace}-made"
    await tenant.deploy("v1", installNamespace=namespace, createNamespace=True, prune={"enabled": False})
    await tenant.ready()
    before = await identities(tenant, CONFIG_MAPS, SERVICES)
    assert len(before) == 2

    assert await upgraded(tenant, operators, first_operator, store) == RECORDED
    assert await identities(tenant, CONFIG_MAPS, SERVICES) == before
    after = await tenant.ready()
    assert after["status"]["history"][0]["options"] == {"installNamespace": namespace, "createNamespace": True}


async def test_a_template_that_changed_meanwhile_costs_only_what_it_changes(
    tenant: Tenant, operators: StartOperator, first_operator: Operator, things: Resource, store: Path
) -> None:
    kinds = (CONFIG_MAPS, SERVICES, WORKLOADS, CRDS, things)
    await tenant.publish("v1", content(tenant, things, v="1"))
    await tenant.publish("v2", content(tenant, things, v="2"))
    await tenant.deploy("v1")
    await tenant.ready()
    before = await identities(tenant, *kinds)
    await first_operator.stop()
    await tenant.deploy("v2")

    sent = await upgraded(tenant, operators, first_operator, store)
    await tenant.ready()
    after = await identities(tenant, *kinds)
    assert changed(after, before) == {("ConfigMap", "settings"), ("CustomResourceDefinition", things_crd(things))}
    assert sent == {
        **CONVERTED,
        ("create", "bundles", "201"): 1,
        ("patch", "bundles/status", "200"): 2,  # the new one, and where the content of the former one is
        ("dry_run", "configmaps", "200"): 1,
        ("apply", "configmaps", "200"): 1,
        ("patch", "bundledeployments/status", "200"): 1,
        ("delete", "bundles", "200"): 1,  # the former one
    }


async def test_an_operator_whose_crds_are_still_the_old_ones_comes_to_rest(
    tenant: Tenant, operators: StartOperator, first_operator: Operator, store: Path
) -> None:
    """The API server drops what it does not know of a status: what was written is not there at the next look."""
    await tenant.publish("v1", [config_map("settings", tenant.namespace, v="1"), service("web", tenant.namespace)])
    await tenant.deploy("v1")
    await tenant.ready()
    await first_operator.stop()
    latest = operators(folder=store)
    await latest.start()
    await has_seen(latest, ("configmaps", "services"), 0)

    assert set(writes(await settled(latest))) == RECORDED.keys()
    assert "options" not in (await tenant.ready())["status"]["history"][0]

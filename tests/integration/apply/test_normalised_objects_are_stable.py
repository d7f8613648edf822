"""Promises of `normalise`, on a real server: a second apply writes nothing, drift is visible, no two clients fight."""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from rukpak_py.apply.normalise import normalise
from rukpak_py.core.objects import GroupVersionKind, canonical_json
from rukpak_py.kube.answers import ApplyAnswer
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.metadata import field_hash
from rukpak_py.kube.resources import Resource
from tests.integration.apply.odd_manifests import ODD, RBAC, deployment, manifest, network_policy
from tests.waiting import eventually

MANAGER = "rukpak/stable"
SETTLING = 12  # applies; a controller that writes a status in between costs one or two
IN_A_ROW = 3


class Bench:
    """Applies manifests under names of its own, and takes away what no namespace takes."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self._discovery = Discovery(client)
        self._cluster_scoped: dict[tuple[Resource, str], None] = {}

    async def normal(self, given: dict[str, Any], name: str = "x") -> tuple[Resource, dict[str, Any]]:
        gvk = GroupVersionKind.parse(given["apiVersion"], given["kind"])
        if self._discovery.find(gvk) is None:
            await self._discovery.refresh()
        resource = self._discovery.find(gvk)
        assert resource is not None, gvk
        name = name if resource.namespaced else f"{self.namespace}-{name}"
        named = {**given, "metadata": {**given["metadata"], "name": name}}
        result = normalise(named, namespaced=resource.namespaced, default_namespace=self.namespace)
        return resource, result.manifest

    async def apply(self, resource: Resource, wanted: dict[str, Any]) -> ApplyAnswer:
        name, namespace = wanted["metadata"]["name"], wanted["metadata"].get("namespace", "")
        if not resource.namespaced:
            self._cluster_scoped[resource, name] = None
        body = canonical_json(wanted)
        return await self.client.apply(resource, namespace, name, body, field_manager=MANAGER, force=True)

    async def live(self, resource: Resource, wanted: dict[str, Any]) -> dict[str, Any]:
        metadata = wanted["metadata"]
        found: dict[str, Any] = orjson.loads(
            await self.client.get(resource, metadata.get("namespace", ""), metadata["name"])
        )
        return found

    async def hash(self, resource: Resource, wanted: dict[str, Any]) -> str | None:
        metadata = wanted["metadata"]
        live = await self.client.get_metadata(resource, metadata.get("namespace", ""), metadata["name"])
        return field_hash(live, MANAGER)

    async def foreign_merge(self, resource: Resource, wanted: dict[str, Any], change: dict[str, Any]) -> None:
        metadata = wanted["metadata"]
        body = orjson.dumps(change)
        await self.client.patch(
            resource, metadata.get("namespace", ""), metadata["name"], body, field_manager="somebody"
        )

    async def close(self) -> None:
        for resource, name in self._cluster_scoped:
            try:
                await self.client.delete(resource, "", name)
            except NotFoundError:
                continue


@pytest.fixture
async def bench(client: Client, namespace: str) -> AsyncIterator[Bench]:
    bench = Bench(client, namespace)
    yield bench
    await bench.close()


@pytest.mark.parametrize("oddity", sorted(ODD))
async def test_applied_again_nothing_is_written(bench: Bench, oddity: str) -> None:
    resource, wanted = await bench.normal(ODD[oddity])
    first = await bench.apply(resource, wanted)
    assert first.created
    versions, hashes = [first.metadata.resource_version], {field_hash(first.metadata, MANAGER)}
    for _ in range(SETTLING):
        if len(versions) >= IN_A_ROW and len(set(versions[-IN_A_ROW:])) == 1:
            break
        again = await bench.apply(resource, wanted)
        versions.append(again.metadata.resource_version)
        hashes.add(field_hash(again.metadata, MANAGER))
    else:
        pytest.fail(f"each apply writes: {versions}")
    assert len(hashes) == 1
    if ODD[oddity]["metadata"].get("finalizers"):
        await bench.foreign_merge(resource, wanted, {"metadata": {"finalizers": None}})  # or its namespace stays


async def test_the_drift_of_a_secret_that_was_given_as_text_is_visible(bench: Bench) -> None:
    resource, wanted = await bench.normal(manifest("v1", "Secret", stringData={"password": "one"}))
    ours = field_hash((await bench.apply(resource, wanted)).metadata, MANAGER)

    await bench.foreign_merge(resource, wanted, {"data": {"password": "dHdv"}})
    assert await bench.hash(resource, wanted) != ours
    assert field_hash((await bench.apply(resource, wanted)).metadata, MANAGER) == ours

    await bench.foreign_merge(resource, wanted, {"data": {"password": None}})
    assert await bench.hash(resource, wanted) != ours
    assert field_hash((await bench.apply(resource, wanted)).metadata, MANAGER) == ours
    assert (await bench.live(resource, wanted))["data"] == {"password": "b25l"}


async def test_aggregated_role_causes_no_fight(bench: Bench) -> None:
    label = {f"{uuid.uuid4().hex}.test/part": "true"}
    rules = [{"apiGroups": ["none.test"], "resources": ["nones"], "verbs": ["get"]}]
    await bench.apply(
        *await bench.normal(manifest(RBAC, "ClusterRole", metadata={"labels": label}, rules=rules), "part")
    )
    aggregated = manifest(
        RBAC, "ClusterRole", aggregationRule={"clusterRoleSelectors": [{"matchLabels": label}]}, rules=[]
    )
    resource, wanted = await bench.normal(aggregated, "whole")
    ours = field_hash((await bench.apply(resource, wanted)).metadata, MANAGER)

    async def is_aggregated() -> bool:
        return bool((await bench.live(resource, wanted))["rules"] == rules)

    await eventually(is_aggregated, what="the controller computed the rules")
    again = await bench.apply(resource, wanted)
    assert field_hash(again.metadata, MANAGER) == ours
    assert await is_aggregated()
    assert await bench.hash(resource, wanted) == ours


async def test_replicas_that_the_content_leaves_open_belong_to_the_client_that_scales(bench: Bench) -> None:
    given = deployment()
    given["spec"]["replicas"] = None
    resource, wanted = await bench.normal(given)
    ours = field_hash((await bench.apply(resource, wanted)).metadata, MANAGER)
    await bench.foreign_merge(resource, wanted, {"spec": {"replicas": 3}})
    assert await bench.hash(resource, wanted) == ours
    await bench.apply(resource, wanted)
    assert (await bench.live(resource, wanted))["spec"]["replicas"] == 3


async def test_revision_of_an_exported_deployment_causes_no_fight(bench: Bench) -> None:
    revision = "deployment.kubernetes.io/revision"
    resource, wanted = await bench.normal(deployment(metadata={"annotations": {revision: "7"}}))
    ours = field_hash((await bench.apply(resource, wanted)).metadata, MANAGER)

    async def has_its_revision() -> bool:
        annotations: dict[str, str] = (await bench.live(resource, wanted))["metadata"].get("annotations", {})
        return annotations.get(revision) == "1"

    await eventually(has_its_revision, what="the controller wrote its own revision")
    assert await bench.hash(resource, wanted) == ours


async def test_the_last_of_a_variable_given_twice_is_stored(bench: Bench) -> None:
    resource, wanted = await bench.normal(ODD["deployment with a variable twice"])
    await bench.apply(resource, wanted)
    (container,) = (await bench.live(resource, wanted))["spec"]["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "A", "value": "2"}, {"name": "B", "value": "$(A)"}]


@pytest.mark.parametrize(
    "spec",
    [
        {"ingress": [], "egress": [], "policyTypes": ["Ingress", "Egress"]},
        {"ingress": [], "egress": []},
        {"policyTypes": [], "egress": [{"to": []}]},
        {"ingress": [{"from": [], "ports": []}]},
        {"ingress": [{"from": [{"podSelector": {"matchLabels": {}}, "namespaceSelector": {}}]}]},
    ],
)
async def test_a_policy_means_what_its_author_would_have_posted(bench: Bench, spec: dict[str, Any]) -> None:
    given = network_policy(**spec)
    resource, wanted = await bench.normal(given)
    await bench.apply(resource, wanted)
    posted = {**given, "metadata": {"name": "posted", "namespace": bench.namespace}}
    await bench.client.create(resource, bench.namespace, orjson.dumps(posted))
    assert (await bench.live(resource, wanted))["spec"] == (await bench.live(resource, posted))["spec"]

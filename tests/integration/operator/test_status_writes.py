"""Writes of a deployment's status while its objects change, and changes that none of them loses."""

import asyncio
import time
from typing import Any

import orjson
import pytest

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus
from rukpak_py.api.reading import read_bundle_deployment
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.errors import StaleError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, Resource
from tests.integration.operator.counting import settled
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import config_map, crd, thing

OBJECTS = 300  # each becomes unhealthy and healthy again: 600 changes
SECONDS = 30.0
WRITES = 32  # one a second for so long, and a first and a last one
WAITING = "waiting for its pods to become ready, 0 of 3 are"
STATUS = ("patch", "bundledeployments/status", "200")
AT_ONCE = 8


def things(group: str) -> Resource:
    return Resource(gvk=GroupVersionKind(group, "v1", "Thing"), plural="things", namespaced=True)


def name_of(number: int) -> str:
    return f"some-rather-long-name-of-a-thing-{number:04}"


async def install(tenant: Tenant, objects: int) -> Resource:
    """Install a deployment of so many custom resources, whose condition `Ready` another client sets."""
    group = f"{tenant.name}.example.com"
    defined = crd(group)
    defined["spec"]["versions"][0]["subresources"] = {"status": {}}
    ours = [thing(group, name_of(number), tenant.namespace) for number in range(objects)]
    await tenant.publish("content", [defined, *ours])
    await tenant.deploy("content")
    await tenant.ready(seconds=60)
    return things(group)


async def set_ready(tenant: Tenant, resource: Resource, numbers: range, status: str, message: str = "") -> None:
    places = asyncio.Semaphore(AT_ONCE)
    ready = {"type": "Ready", "status": status, "reason": "Tested", "message": message}
    body = orjson.dumps({"status": {"conditions": [ready]}})

    async def one(number: int) -> None:
        async with places:
            await tenant.admin.patch_status(resource, tenant.namespace, name_of(number), body)

    await asyncio.gather(*(one(number) for number in numbers))


async def test_600_changes_of_health_are_few_writes_and_the_last_state_is_exact(
    tenant: Tenant, operator: Operator
) -> None:
    resource = await install(tenant, OBJECTS)
    before, started = await settled(operator), time.monotonic()
    await set_ready(tenant, resource, range(OBJECTS), "False", WAITING)
    await tenant.until(
        lambda found: condition(found, "Healthy").get("message", "").startswith(f"{OBJECTS} of {OBJECTS + 1} objects"),
        what="every object is counted",
    )
    found = await tenant.deployment()
    await set_ready(tenant, resource, range(OBJECTS), "True")
    await tenant.ready()
    took = time.monotonic() - started
    writes = (await settled(operator) - before)[STATUS]
    assert writes <= took + 2, f"{writes} writes in {took:.1f} s"
    assert took > SECONDS or writes <= WRITES

    lengths = {one["type"]: len(one["message"]) for one in found["status"]["conditions"]}
    assert lengths["Healthy"] == 32_000
    assert max(lengths["Ready"], lengths["Reconciling"]) <= 300


async def test_an_unhealthy_object_is_told_at_once_and_every_change_within_a_second_or_two(
    tenant: Tenant, operator: Operator
) -> None:
    resource = await install(tenant, 2)
    await settled(operator)
    await set_ready(tenant, resource, range(2), "False", WAITING)
    keys = [resource.key(tenant.namespace, name_of(n)) for n in range(2)]
    lines = [f"{key}: object InProgress: {WAITING}" for key in keys]
    text = "\n".join([f"2 of 3 objects are not healthy: {keys[0]}: {WAITING}", *lines])
    found = await tenant.until(lambda one: condition(one, "Healthy").get("message") == text, what="both are named")
    assert condition(found, "Ready")["message"] == text.partition("\n")[0]
    await set_ready(tenant, resource, range(1), "True")
    await tenant.until(lambda one: condition(one, "Healthy").get("message") == lines[1], what="one is named")


@pytest.mark.parametrize("change", ["labels", "spec"])
async def test_a_status_based_on_an_older_version_is_refused(tenant: Tenant, change: str) -> None:
    """No operator is needed for it: a list in a merge patch replaces the list, so `status.kinds` would be lost."""
    await tenant.deploy("content")
    one = read_bundle_deployment(await tenant.deployment())
    patches: dict[str, dict[str, Any]] = {
        "labels": {"metadata": {"labels": {"a": "b"}}},
        "spec": {"spec": {"suspend": True}},
    }
    body = orjson.dumps(patches[change])
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, body, field_manager="somebody")
    status = BundleDeploymentStatus(observed_generation=7)
    writer = DeploymentStatusWriter(client=tenant.admin, deployments=Cache(clock=time.monotonic))
    with pytest.raises(StaleError):
        await writer.patch(one, status)
    after = await tenant.deployment()
    assert after["status"] == {"observedGeneration": -1}
    latest = read_bundle_deployment(after)
    await writer.patch(latest, status)
    assert (await tenant.deployment())["status"] == {"observedGeneration": 7}


async def test_labels_that_change_meanwhile_do_not_stop_the_status(tenant: Tenant, operator: Operator) -> None:
    await tenant.publish("content", [config_map("one", tenant.namespace)])
    await tenant.deploy("content")
    for number in range(100):  # long enough to meet every write of an install
        body = orjson.dumps({"metadata": {"labels": {"number": str(number)}}})
        await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, body, field_manager="somebody")
    found = await tenant.ready()
    assert found["metadata"]["labels"] == {"number": "99"}
    assert [kind["kind"] for kind in found["status"]["kinds"]] == ["ConfigMap"]

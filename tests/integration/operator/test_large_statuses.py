"""Statuses beside a spec and annotations that leave etcd little room for them: 1.5 MiB for the whole object."""

import orjson

from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS
from tests import manifests
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document, config_map
from tests.waiting import eventually

KB = 1000
EDITS = 6
TEMPLATE_ANNOTATION, OWN_ANNOTATION = 245 * KB, 150 * KB  # an object takes 256 KiB of them
LARGE_CONFIG = 900 * KB  # with two templates in the history there is no room left
HISTORY_BYTES = 512 * 1024


async def deploy(tenant: Tenant, number: int, *, own_annotation: int = 0, config: Document | None = None) -> None:
    """The spec of this edit, with an annotation of 245 KB in its template."""
    tenant.sees_to(tenant.name)
    body = manifests.deployment(tenant.name, manifests.source(f"v{number}"))
    letter = "abcdef"[number - 1]
    body["metadata"]["annotations"] = {"large": "x" * own_annotation}
    body["spec"]["template"]["metadata"] = {"annotations": {"large": letter * TEMPLATE_ANNOTATION}}
    if config is not None:
        body["spec"]["config"] = config
    await tenant.admin.apply(BUNDLE_DEPLOYMENTS, "", tenant.name, orjson.dumps(body), field_manager="user", force=True)


async def publish(tenant: Tenant, number: int) -> None:
    await tenant.publish(f"v{number}", [config_map("settings", tenant.namespace, v=str(number))])


async def installed_value(tenant: Tenant) -> str:
    value: str = (await tenant.read(CONFIG_MAPS, tenant.namespace, "settings"))["data"]["v"]
    return value


async def test_six_edits_with_large_annotations_are_all_told(tenant: Tenant, operator: Operator) -> None:
    for number in range(1, EDITS + 1):
        await publish(tenant, number)
        await deploy(tenant, number, own_annotation=OWN_ANNOTATION)
        await tenant.ready()
        assert await installed_value(tenant) == str(number)

    found = await tenant.deployment()
    history = found["status"]["history"]
    assert [entry["revision"] for entry in history] == [6, 5, 4, 3, 2]
    assert [("template" in entry, "options" in entry) for entry in history] == [
        (True, True),
        (True, True),
        (False, False),
        (False, False),
        (False, False),
    ]
    assert len(orjson.dumps(history)) <= HISTORY_BYTES
    assert condition(found, "Installed")["message"].splitlines()[1:] == [
        "status.history has no room for templates and options of revisions 2, 3, 4"
    ]


async def test_a_status_without_room_is_a_small_one_until_there_is_room(tenant: Tenant, operator: Operator) -> None:
    for number in (1, 2, 3):
        await publish(tenant, number)
    large = {"values": "x" * LARGE_CONFIG}
    await deploy(tenant, 1, config=large)
    await tenant.ready()
    await deploy(tenant, 2, config=large)

    found = await tenant.until(
        lambda one: condition(one, "Ready")["reason"] == "StatusTooLarge", what="the status is too large"
    )
    generation = found["metadata"]["generation"]
    assert found["status"]["observedGeneration"] == generation
    assert {one["observedGeneration"] for one in found["status"]["conditions"]} == {generation}
    assert [condition(found, kind)["status"] for kind in ("Ready", "Stalled")] == ["False", "True"]
    found = await tenant.until(
        lambda one: (condition(one, "Installed")["status"], condition(one, "Healthy")["status"]) == ("True", "True"),
        what="installed and healthy",
    )
    assert await installed_value(tenant) == "2"
    active, former = found["status"]["history"]
    assert (active["revision"], former["revision"]) == (2, 1)
    assert (active["options"].keys(), active.get("template")) == ({"configDigest"}, None)
    assert "options" not in former

    await operator.stop()
    edit = b'{"data":{"v":"edited"}}'
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "settings", edit, field_manager="somebody")
    await operator.start()

    async def is_corrected() -> bool:
        return await installed_value(tenant) == "2"

    await eventually(is_corrected, what="drift is corrected with what is recorded")
    await deploy(tenant, 3, config={"values": "short"})
    found = await tenant.ready()
    assert await installed_value(tenant) == "3"
    assert [entry["revision"] for entry in found["status"]["history"]] == [3, 2, 1]
    assert orjson.loads(found["status"]["history"][0]["options"]["valuesJSON"]) == {"values": "short"}

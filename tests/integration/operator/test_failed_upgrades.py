"""Upgrades that do not become healthy in time, by `spec.upgrades.onFailure`: undone once, or kept."""

import asyncio
from typing import Any

from rukpak_py.kube.resources import BUNDLES, CONFIG_MAPS
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import WORKLOADS, Tenant, condition
from tests.integration.operator.upgrading import annotate, installed, pending, publish, upgraded, waits
from tests.manifests import Document, config_map
from tests.waiting import eventually

ROLLBACK = {"onFailure": {"after": "3s", "action": "Rollback"}}
KEEP = {"onFailure": {"after": "1s", "action": "Keep"}}


def workload(namespace: str, image: str, *, replicas: int = 1) -> Document:
    """Without a node its pods never run: it is healthy with no replica alone."""
    labels = {"app": "web"}
    containers = [{"name": "web", "image": image}]
    spec: Document = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
    }
    head = {"name": "web", "namespace": namespace}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": head, "spec": spec}


async def good_and_bad(tenant: Tenant, upgrades: Document, **spec: Any) -> None:
    """Version one is healthy, and the image of version two is bad."""
    await publish(tenant, "one", workload(tenant.namespace, "web:1", replicas=0), config_map("old", tenant.namespace))
    await publish(tenant, "two", workload(tenant.namespace, "web:bad"), config_map("new", tenant.namespace))
    await tenant.deploy("one", upgrades=upgrades, **spec)
    await tenant.ready()
    await tenant.deploy("two", upgrades=upgrades, **spec)


def is_rolled_back(deployment: Document) -> bool:
    ready = condition(deployment, "Ready")
    return (ready.get("status"), ready.get("reason")) == ("False", "RolledBack")


async def rolled_back(tenant: Tenant) -> Document:
    return await tenant.until(is_rolled_back, what="rolled back", seconds=40)


async def one_is_there(tenant: Tenant) -> None:
    async def look() -> bool:
        found = await tenant.owned(CONFIG_MAPS)
        return {name for _, name in found} == {"a", "old"} and await installed(tenant) == "one"

    await eventually(look, what="exactly version one is there")
    web = await tenant.read(WORKLOADS, tenant.namespace, "web")
    assert web["spec"]["template"]["spec"]["containers"][0]["image"] == "web:1"


async def test_bad_image_rolls_back_by_itself(tenant: Tenant, operator: Operator) -> None:
    await good_and_bad(tenant, ROLLBACK)
    deployment = await rolled_back(tenant)
    await one_is_there(tenant)
    deployment = await tenant.until(
        lambda found: condition(found, "Healthy").get("status") == "True", what="version one is healthy"
    )
    status = deployment["status"]
    assert is_rolled_back(deployment)
    assert condition(deployment, "Stalled")["status"] == "True"
    assert condition(deployment, "Installed")["status"] == "True"
    assert "revision 1 is installed again" in condition(deployment, "Ready")["message"]
    assert [(one["revision"], one["outcome"]) for one in status["history"]] == [
        (3, "Healthy"),
        (2, "RolledBack"),
        (1, "Healthy"),
    ]
    assert (status["rollback"]["revision"], "upgrade" in status) == (1, False)
    assert "Deployment.apps" in status["rollback"]["reason"]


async def test_failed_content_is_not_tried_again_before_it_changes(tenant: Tenant, operator: Operator) -> None:
    await good_and_bad(tenant, ROLLBACK)
    before = await rolled_back(tenant)
    await tenant.deploy("two", upgrades=ROLLBACK, prune={"enabled": True})  # another generation, the same content
    await tenant.until(
        lambda found: condition(found, "Ready").get("observedGeneration") == found["metadata"]["generation"],
        what="the new generation is observed",
    )
    found = await tenant.deployment()
    assert is_rolled_back(found)
    assert found["status"]["rollback"] == before["status"]["rollback"]
    await one_is_there(tenant)
    await publish(tenant, "three")
    await tenant.deploy("three", upgrades=ROLLBACK)
    found = await tenant.ready()
    assert "rollback" not in found["status"]
    assert await installed(tenant) == "three"


async def test_going_back_by_hand_ends_the_rollback(tenant: Tenant, operator: Operator) -> None:
    await good_and_bad(tenant, ROLLBACK)
    await rolled_back(tenant)
    await tenant.deploy("one", upgrades=ROLLBACK)
    found = await tenant.ready()
    assert "rollback" not in found["status"]
    assert [one["revision"] for one in found["status"]["history"]] == [3, 2, 1]
    await one_is_there(tenant)


async def test_drift_is_corrected_after_a_rollback_also_by_another_process(tenant: Tenant, operator: Operator) -> None:
    await good_and_bad(tenant, ROLLBACK)
    await rolled_back(tenant)
    await operator.stop()
    await operator.start()
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "a", b'{"data":{"version":"theirs"}}', field_manager="x")
    await one_is_there(tenant)
    assert is_rolled_back(await tenant.deployment())
    assert len(await tenant.owned(BUNDLES)) == 2


async def test_upgrade_that_is_kept_stays(tenant: Tenant, operator: Operator) -> None:
    await good_and_bad(tenant, KEEP)

    def is_two(deployment: Document) -> bool:
        history = deployment["status"]["history"]
        return history[0]["revision"] == 2 and "upgrade" in deployment["status"]

    await tenant.until(is_two, what="version two is installed")
    await asyncio.sleep(3)
    found = await tenant.deployment()
    assert "rollback" not in found["status"]
    assert await installed(tenant) == "two"


async def test_first_install_is_never_undone(tenant: Tenant, operator: Operator) -> None:
    await publish(tenant, "two", workload(tenant.namespace, "web:bad"))
    await tenant.deploy("two", upgrades=ROLLBACK)
    await tenant.until(lambda found: condition(found, "Healthy").get("status") == "False", what="unhealthy")
    await asyncio.sleep(5)
    found = await tenant.deployment()
    assert "rollback" not in found["status"]
    assert await installed(tenant) == "two"


async def test_rollback_that_fails_is_not_undone_in_turn(tenant: Tenant, operator: Operator) -> None:
    """Going back to a revision that is not healthy any more is the user's own word."""
    await publish(tenant, "one", workload(tenant.namespace, "web:1"))
    await publish(tenant, "two", workload(tenant.namespace, "web:2", replicas=0))
    await tenant.deploy("one")
    await tenant.until(lambda found: condition(found, "Installed").get("status") == "True", what="installed")
    await tenant.deploy("two")
    await tenant.ready()
    await tenant.deploy("one", upgrades=ROLLBACK)
    await tenant.until(lambda found: found["status"]["history"][0]["revision"] == 3, what="one is back")
    await asyncio.sleep(5)
    found = await tenant.deployment()
    assert "rollback" not in found["status"]
    assert found["status"]["upgrade"]["isRollback"] is True
    assert await installed(tenant) == "one"


async def test_rollback_waits_for_no_approval(tenant: Tenant, operator: Operator) -> None:
    await good_and_bad(tenant, {**ROLLBACK, "approval": "Manual"})
    await annotate(tenant, pending(await waits(tenant))["digest"])
    await rolled_back(tenant)
    await one_is_there(tenant)


async def test_revision_that_is_back_is_kept_while_other_content_waits_for_an_approval(
    tenant: Tenant, operator: Operator
) -> None:
    await good_and_bad(tenant, ROLLBACK)
    await rolled_back(tenant)
    await publish(tenant, "three")
    await tenant.deploy("three", upgrades={**ROLLBACK, "approval": "Manual"})
    waiting = await waits(tenant)
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "a", b'{"data":{"version":"theirs"}}', field_manager="x")
    await one_is_there(tenant)
    assert "rollback" not in (await tenant.deployment())["status"], "it came to its end"
    await annotate(tenant, pending(waiting)["digest"])
    await upgraded(tenant, "three")

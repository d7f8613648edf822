"""Upgrades that wait for an approval or a window, as users see and decide them on a real API server."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from rukpak_py.api.names import RECONCILE_AT_ANNOTATION
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS
from tests.integration.listing import listed
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.operator.upgrading import (
    MANUAL,
    NEVER,
    WHEN_SAFE,
    annotate,
    begun,
    installed,
    pending,
    publish,
    upgraded,
    waits,
)
from tests.manifests import Document, manifest
from tests.waiting import eventually


async def test_upgrade_is_installed_once_its_plan_is_approved(tenant: Tenant, operator: Operator) -> None:
    await begun(tenant, MANUAL)
    deployment = await waits(tenant)
    plan = pending(deployment)
    assert await installed(tenant) == "one"
    assert plan["counts"] == {"created": 1, "changed": 1}
    assert plan["verdict"] == "Safe"
    assert len(plan["names"]) == 2
    ready = condition(deployment, "Ready")
    assert (ready["status"], ready["reason"]) == ("True", "UpgradePending")
    await annotate(tenant, plan["digest"])
    deployment = await upgraded(tenant, "two")
    assert [entry["revision"] for entry in deployment["status"]["history"]] == [2, 1]


async def test_approval_of_another_plan_counts_for_nothing(tenant: Tenant, operator: Operator) -> None:
    await begun(tenant, MANUAL)
    digest = pending(await waits(tenant))["digest"]
    await annotate(tenant, "sha256:" + "0" * 64)
    body = orjson.dumps({"metadata": {"annotations": {RECONCILE_AT_ANNOTATION: "now"}}})
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, body)
    deployment = await tenant.until(
        lambda found: found["status"].get("lastHandledReconcileAt") == "now", what="it was looked at"
    )
    assert await installed(tenant) == "one"
    assert pending(deployment)["digest"] == digest
    assert not pending(deployment).get("approved")


async def test_template_that_changes_between_plan_and_approval_needs_another(
    tenant: Tenant, operator: Operator
) -> None:
    await begun(tenant, MANUAL)
    first = pending(await waits(tenant))["digest"]
    await publish(tenant, "three")
    await tenant.deploy("three", upgrades=MANUAL)
    await annotate(tenant, first)
    second = pending(await waits(tenant, than=first))
    assert second["digest"] != first
    assert await installed(tenant) == "one"
    await annotate(tenant, second["digest"])
    await upgraded(tenant, "three")


async def test_old_approval_does_not_count_after_there_and_back(tenant: Tenant, operator: Operator) -> None:
    await begun(tenant, MANUAL | NEVER)
    first = pending(await waits(tenant))["digest"]
    await annotate(tenant, first)
    approved = await waits(tenant, reason="OutsideWindow")
    assert pending(approved)["approved"] == first
    await publish(tenant, "three")
    await tenant.deploy("three", upgrades=MANUAL | NEVER)
    await waits(tenant, than=first)
    await tenant.deploy("two", upgrades=MANUAL)
    again = pending(await waits(tenant, than=first))
    assert not again.get("approved")
    assert await installed(tenant) == "one"


async def test_recorded_approval_stays_when_its_annotation_goes_and_none_withdraws_it(
    tenant: Tenant, operator: Operator
) -> None:
    await begun(tenant, MANUAL | NEVER)
    digest = pending(await waits(tenant))["digest"]
    await annotate(tenant, digest)
    await waits(tenant, reason="OutsideWindow")
    await annotate(tenant, None)
    await operator.stop()
    await operator.start()
    assert pending(await waits(tenant, reason="OutsideWindow"))["approved"] == digest
    await annotate(tenant, "none")
    assert not pending(await waits(tenant, reason="NotApproved")).get("approved")
    await annotate(tenant, f"{digest},now")
    await upgraded(tenant, "two")


async def test_window_opens_and_the_upgrade_begins(tenant: Tenant, operator: Operator) -> None:
    opens = datetime.now(UTC) + timedelta(minutes=1)
    window = {"start": f"{opens.minute} {opens.hour} * * *", "duration": "1h"}
    await begun(tenant, {"windows": [window]})
    deployment = await waits(tenant, reason="OutsideWindow")
    assert f"{opens:%Y-%m-%dT%H:%M:00Z}" in condition(deployment, "UpgradePending")["message"]
    assert await installed(tenant) == "one"

    async def is_there() -> bool:
        return await installed(tenant) == "two"

    await eventually(is_there, what="the window opened", seconds=75)
    assert datetime.now(UTC) >= opens.replace(second=0, microsecond=0)


Content = Callable[[Tenant], Document]


@pytest.mark.parametrize(
    ("makes", "review"),
    [
        pytest.param(
            lambda tenant: manifest(
                "rbac.authorization.k8s.io/v1",
                "ClusterRole",
                f"{tenant.name}-role",
                rules=[{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
            ),
            "get: secrets",
            id="a new ClusterRole",
        ),
        pytest.param(
            lambda tenant: manifest(
                "rbac.authorization.k8s.io/v1",
                "ClusterRoleBinding",
                f"{tenant.name}-binding",
                roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
                subjects=[{"kind": "ServiceAccount", "namespace": tenant.namespace, "name": "x"}],
            ),
            "every verb: every resource",
            id="a binding to cluster-admin",
        ),
    ],
)
async def test_safe_upgrades_alone_go_on_by_themselves(
    tenant: Tenant, operator: Operator, makes: Content, review: str
) -> None:
    await begun(tenant, WHEN_SAFE)
    await upgraded(tenant, "two")
    await publish(tenant, "three", makes(tenant))
    await tenant.deploy("three", upgrades=WHEN_SAFE)
    deployment = await waits(tenant)
    assert pending(deployment)["verdict"] == "NeedsReview"
    assert any(review in line for line in pending(deployment)["rightsGained"])
    assert review in condition(deployment, "UpgradePending")["message"]
    assert pending(deployment)["counts"] == {"created": 1, "changed": 1, "pruned": 1}
    assert await installed(tenant) == "two"


async def test_drift_is_corrected_while_an_upgrade_waits_and_costs_no_other_plan(
    tenant: Tenant, operator: Operator
) -> None:
    await begun(tenant, MANUAL)
    digest = pending(await waits(tenant))["digest"]
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "a", b'{"data":{"version":"edited"}}')

    async def is_corrected() -> bool:
        return await installed(tenant) == "one"

    await eventually(is_corrected, what="drift is corrected")
    await tenant.admin.delete(CONFIG_MAPS, tenant.namespace, "a")

    async def is_back() -> bool:
        return any(one["metadata"]["name"] == "a" for one in await listed(tenant.admin, CONFIG_MAPS, tenant.namespace))

    await eventually(is_back, what="what was deleted is back")
    assert await installed(tenant) == "one"
    await annotate(tenant, digest)
    await upgraded(tenant, "two")


async def test_restored_deployment_without_status_waits_before_it_writes(tenant: Tenant, operator: Operator) -> None:
    await begun(tenant, MANUAL)
    await waits(tenant)
    await operator.stop()
    deployment = await tenant.deployment()
    await tenant.admin.patch(
        BUNDLE_DEPLOYMENTS,
        "",
        tenant.name,
        orjson.dumps([{"op": "replace", "path": "/status", "value": {"observedGeneration": -1}}]),
        content_type="application/json-patch+json",
        subresource="status",
    )
    await operator.start()
    assert deployment["status"]["history"]
    plan = pending(await waits(tenant))
    assert plan["verdict"] == "NeedsReview"
    assert await installed(tenant) == "one"
    await annotate(tenant, plan["digest"])
    await upgraded(tenant, "two")

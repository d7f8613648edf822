"""Decisions about upgrades: by `spec.upgrades`, the annotation, what was recorded of it, and the windows."""

from dataclasses import replace as replaced
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import APPROVED_ANNOTATION
from rukpak_py.api.upgrades import Approval, PendingReason, PendingUpgrade, Upgrades, UpgradeWindow
from rukpak_py.apply.upgrade_plan import ObjectChanges, UpgradeIdentity, UpgradePlan
from rukpak_py.controllers.deployment.upgrade_approval import approval_of, decide, wanted_since
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Fact
from tests.unit.controllers.deployment.parts import attempt
from tests.unit.controllers.values import deployment

IDENTITY = UpgradeIdentity(deployment="uid", from_revision=1, wanted_since=2, content="sha256:c", bundle="b2")
SAFE = UpgradePlan(identity=IDENTITY, objects=ObjectChanges())
UNSAFE = replaced(SAFE, rights_gained=("ClusterRole x",))
CLOSED = (UpgradeWindow(start="0 2 * * 0", duration="4h"),)
NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
NOT_APPROVED, OUTSIDE, BEGINS = PendingReason.NOT_APPROVED, PendingReason.OUTSIDE_WINDOW, None


def of(
    approval: Approval = Approval.MANUAL, *, asked: str = "", recorded: str = "", windows: Any = ()
) -> BundleDeployment:
    found = deployment()
    pending = PendingUpgrade(digest="d", bundle="b2", reason="NotApproved", verdict="Safe", approved=recorded)
    annotations = {APPROVED_ANNOTATION: asked} if asked else {}
    return replace(
        found,
        metadata=replace(found.metadata, annotations=annotations),
        spec=replace(found.spec, upgrades=Upgrades(approval=approval, windows=windows)),
        status=replace(found.status, pending_upgrade=pending),
    )


@pytest.mark.parametrize(
    ("found", "plan", "expected"),
    [
        (of(Approval.AUTOMATIC, windows=CLOSED), UNSAFE, OUTSIDE),
        (of(Approval.WHEN_SAFE), SAFE, BEGINS),
        (of(Approval.WHEN_SAFE), UNSAFE, NOT_APPROVED),
        (of(Approval.WHEN_SAFE, asked=UNSAFE.digest), UNSAFE, BEGINS),
        (of(), SAFE, NOT_APPROVED),
        (of(asked=SAFE.digest), SAFE, BEGINS),
        (of(asked=UNSAFE.digest), SAFE, NOT_APPROVED),
        (of(asked="true"), SAFE, NOT_APPROVED),
        (of(recorded=SAFE.digest), SAFE, BEGINS),
        (of(asked="none", recorded=SAFE.digest), SAFE, NOT_APPROVED),
        (of(asked=UNSAFE.digest, recorded=SAFE.digest), SAFE, BEGINS),
        (of(asked=SAFE.digest, windows=CLOSED), SAFE, OUTSIDE),
        (of(asked=f"{SAFE.digest},now", windows=CLOSED), SAFE, BEGINS),
        (of(asked=f"{SAFE.digest}, now", windows=CLOSED), SAFE, BEGINS),
        (of(asked=f"{SAFE.digest},soon", windows=CLOSED), SAFE, NOT_APPROVED),
        (of(recorded=f"{SAFE.digest},now", windows=CLOSED), SAFE, BEGINS),
        (of(Approval.AUTOMATIC, asked=f"{SAFE.digest},now", windows=CLOSED), SAFE, BEGINS),
    ],
)
def test_decisions(found: BundleDeployment, plan: UpgradePlan, expected: PendingReason | None) -> None:
    assert decide(found, plan, NOW).reason is expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (of(Approval.AUTOMATIC), PendingReason.DEPENDENCY_NOT_READY),
        (of(), NOT_APPROVED),
        (of(asked=f"{SAFE.digest},now", windows=CLOSED), PendingReason.DEPENDENCY_NOT_READY),
    ],
    ids=["by itself", "without an approval", "at once"],
)
def test_an_approved_upgrade_waits_for_dependencies(found: BundleDeployment, expected: PendingReason) -> None:
    decision = decide(found, SAFE, NOW, Fact(cause=Cause.DEPENDENCY_NOT_READY))
    assert decision.reason is expected


def test_an_approval_with_now_replaces_one_without_it() -> None:
    assert approval_of(of(asked=f"{SAFE.digest},now", recorded=SAFE.digest), SAFE.digest) == f"{SAFE.digest},now"


@pytest.mark.parametrize(
    ("generation", "observed", "former", "expected"),
    [(5, 5, "", 3), (5, 4, "", 3), (6, 4, "", 6), (5, 5, "sha256:other", 5)],
    ids=["nothing changed", "one other edit", "generations were missed", "other content"],
)
def test_content_is_wanted_since_the_generation_that_asked_for_it(
    generation: int, observed: int, former: str, expected: int
) -> None:
    one = attempt(is_wanted=True)
    content = former or one.bundle.status.digest
    pending = PendingUpgrade(
        digest="d", bundle="b", content=content, options=one.options.digest, reason="", verdict="", wanted_since=3
    )
    found = replace(
        one.deployment,
        metadata=replace(one.deployment.metadata, generation=generation),
        status=replace(one.deployment.status, pending_upgrade=pending, observed_generation=observed),
    )
    assert wanted_since(replaced(one, deployment=found)) == expected

"""The short form of a plan in a status: masked, and within the room that a status has for it."""

import msgspec
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus
from rukpak_py.api.upgrades import PLAN_CHARACTERS, PLAN_LINES_AT_MOST, PLAN_NAMES_AT_MOST, PendingUpgrade
from rukpak_py.controllers.result.changes import changed
from rukpak_py.controllers.result.progress import StatusChange

ROOM = 8 * 1024


def hide(text: str) -> str:
    return text.replace("hunter2", "***")


def written(**fields: tuple[str, ...]) -> PendingUpgrade:
    pending = PendingUpgrade(digest="sha256:1", bundle="b", reason="NotApproved", verdict="Safe")
    change = StatusChange(pending_upgrade=replace(pending, **fields))
    found = changed(BundleDeploymentStatus(), change, hide).pending_upgrade
    assert found is not None
    return found


def test_lines_are_masked_before_they_are_cut() -> None:
    start = "x" * (PLAN_CHARACTERS - 20)
    found = written(rights_gained=(f"{start} hunter2 and more than there is room for", "hunter2"), crds=("hunter2",))
    assert "hunter" not in str(found)
    assert (found.rights_gained[1], found.crds) == ("***", ("***",))


def test_lines_of_any_length_fit_into_the_status() -> None:
    long = "y" * 100_000
    found = written(
        rights_gained=(long,) * PLAN_LINES_AT_MOST,
        crds=(long,) * PLAN_LINES_AT_MOST,
        hooks=(long,) * PLAN_LINES_AT_MOST,
        names=(long,) * PLAN_NAMES_AT_MOST,
    )
    assert len(msgspec.json.encode(found)) < ROOM

"""What a Bundle's status says after whatever happened to it."""

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle, BundleStatus
from rukpak_py.api.names import BundlePhase, Reason
from rukpak_py.api.template_hash import spec_digest
from rukpak_py.controllers.bundle import status as bundle_status
from rukpak_py.core.errors import AccessError, ConflictError, ContentError, RukPakError, UnavailableError
from tests.unit.controllers.fakes import LATER, NOW
from tests.unit.controllers.values import DIGEST, OTHER_DIGEST, bundle, conditions, source, spec, unpacked

FRESH = bundle(generation=3)


def test_unpacking() -> None:
    status = bundle_status.unpacking(FRESH, NOW)
    assert status.phase == BundlePhase.UNPACKING
    assert conditions(status) == {
        "Unpacked": ("False", "Unpacking", ""),
        "Ready": ("Unknown", "Unpacking", "Unpacking the configMaps Bundle"),
        "Reconciling": ("True", "Unpacking", "Unpacking the configMaps Bundle"),
    }


def test_unpacked() -> None:
    status = bundle_status.unpacked(FRESH, DIGEST, source("resolved"), NOW)
    message = "Successfully unpacked the configMaps Bundle"
    assert conditions(status) == {
        "Unpacked": ("True", "UnpackSuccessful", message),
        "Ready": ("True", "UnpackSuccessful", message),
    }
    assert (status.phase, status.digest, status.resolved_source) == (BundlePhase.UNPACKED, DIGEST, source("resolved"))
    assert status.spec_digest == spec_digest(FRESH.spec)


@pytest.mark.parametrize(
    ("error", "reason", "beside"),
    [
        (ContentError("m"), "ContentError", "Stalled"),
        (AccessError("m"), "AccessDenied", "Reconciling"),
        (ConflictError("m"), "Conflict", "Reconciling"),
        (UnavailableError("m"), "Unavailable", "Reconciling"),
        (RukPakError("m"), "Retrying", "Reconciling"),
    ],
)
def test_failing(error: RukPakError, reason: str, beside: str) -> None:
    status = bundle_status.failing(FRESH, "source bundle content: m", error, NOW)
    assert status.phase == BundlePhase.FAILING
    assert conditions(status) == {
        "Unpacked": ("False", "UnpackFailed", "source bundle content: m"),
        "Ready": ("False", reason, "source bundle content: m"),
        beside: ("True", reason, "source bundle content: m"),
    }
    assert (status.digest, status.resolved_source) == ("", None)


def test_failing_keeps_what_was_pinned() -> None:
    status = bundle_status.failing(unpacked(), "m", UnavailableError("m"), NOW)
    assert (status.digest, status.resolved_source) == (DIGEST, source())
    assert status.spec_digest


def test_other_content_than_pinned() -> None:
    status = bundle_status.content_changed(unpacked(), DIGEST, OTHER_DIGEST, NOW)
    assert status.phase == BundlePhase.FAILING
    assert status.digest == DIGEST
    for kind in ("Unpacked", "Ready"):
        value, reason, message = conditions(status)[kind]
        assert (value, reason) == ("False", Reason.CONTENT_CHANGED)
        assert DIGEST in message
        assert OTHER_DIGEST in message
        assert "create a new Bundle" in message
    assert "Reconciling" in conditions(status)


def test_a_spec_that_was_changed_past_the_webhook() -> None:
    changed = replace(unpacked(), spec=spec("others"))
    status = bundle_status.spec_changed(changed, LATER)
    assert conditions(status)["Unpacked"][0] == "True", "what was unpacked stays what the Bundle is"
    assert conditions(status)["Ready"][:2] == ("False", Reason.SPEC_CHANGED)
    assert "Stalled" in conditions(status)
    assert (status.phase, status.digest) == (BundlePhase.UNPACKED, DIGEST)


def test_the_spec_that_was_unpacked_is_remembered_for_ever() -> None:
    changed = replace(unpacked(), spec=spec("others"))
    status = bundle_status.unpacked(changed, DIGEST, source(), LATER)
    assert status.spec_digest == spec_digest(spec())


EVERY = [
    bundle_status.unpacking(FRESH, NOW),
    bundle_status.unpacked(FRESH, DIGEST, source(), NOW),
    bundle_status.failing(FRESH, "m", ContentError("m"), NOW),
    bundle_status.failing(FRESH, "m", UnavailableError("m"), NOW),
    bundle_status.content_changed(FRESH, DIGEST, OTHER_DIGEST, NOW),
    bundle_status.spec_changed(FRESH, NOW),
]


@pytest.mark.parametrize("status", EVERY)
def test_every_status_speaks_of_this_generation_and_has_every_condition(status: BundleStatus) -> None:
    assert status.observed_generation == 3
    assert {condition.observed_generation for condition in status.conditions} == {3}
    assert {"Unpacked", "Ready"} <= conditions(status).keys()
    assert not {"Reconciling", "Stalled"} <= conditions(status).keys()
    assert len(conditions(status)) == len(status.conditions)


@pytest.mark.parametrize("before", EVERY)
def test_saying_the_same_again_later_changes_nothing(before: BundleStatus) -> None:
    """Else every retry would be a write."""

    def again(status: BundleStatus) -> BundleStatus:
        one: Bundle = replace(FRESH, status=status)
        return bundle_status.failing(one, "m", UnavailableError("m"), LATER)

    once = again(before)
    assert again(once) == once


def test_the_time_of_a_transition_moves_with_the_status_alone() -> None:
    failing = bundle_status.failing(FRESH, "one", UnavailableError("m"), NOW)
    still = bundle_status.failing(replace(FRESH, status=failing), "another", UnavailableError("m"), LATER)
    assert {condition.last_transition_time for condition in still.conditions} == {NOW}
    better = bundle_status.unpacked(replace(FRESH, status=still), DIGEST, source(), LATER)
    assert {condition.last_transition_time for condition in better.conditions} == {LATER}


def test_a_long_message_is_cut_and_fits_the_schema() -> None:
    status = bundle_status.failing(FRESH, "x" * 100_000, ContentError("m"), NOW)
    assert max(len(condition.message) for condition in status.conditions) <= 32_000


PENDING = BundleStatus()
UNPACKED = bundle_status.unpacked(FRESH, DIGEST, source(), NOW)
BUSY = bundle_status.unpacking(FRESH, NOW)
LONG = "source bundle content: " + "x" * 500


def failing(message: str = "m", before: BundleStatus = PENDING) -> BundleStatus:
    return bundle_status.failing(replace(FRESH, status=before), message, UnavailableError(message), NOW)


CHANGED = bundle_status.content_changed(replace(FRESH, status=UNPACKED), DIGEST, OTHER_DIGEST, NOW)
EDITED = bundle_status.spec_changed(replace(FRESH, status=UNPACKED), NOW)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (PENDING, BUSY, []),
        (PENDING, UNPACKED, [("Normal", "Unpacked")]),
        (BUSY, UNPACKED, [("Normal", "Unpacked")]),
        (UNPACKED, UNPACKED, []),
        (BUSY, failing(), [("Warning", "UnpackFailed")]),
        (failing(), failing(), []),
        (failing(), failing("other"), [("Warning", "UnpackFailed")]),
        (failing(), UNPACKED, [("Normal", "Unpacked")]),
        (UNPACKED, CHANGED, [("Warning", "ContentChanged")]),
        (CHANGED, CHANGED, []),
        (UNPACKED, EDITED, [("Warning", "SpecChanged")]),
        (EDITED, EDITED, []),
        (EDITED, UNPACKED, [("Normal", "UnpackSuccessful")]),
    ],
)
def test_a_transition_is_told_once(before: BundleStatus, after: BundleStatus, expected: list[tuple[str, str]]) -> None:
    notes = bundle_status.bundle_transitions(before, after)
    assert [(note.type.value, note.reason) for note in notes] == expected


def test_an_event_has_the_whole_line_and_the_digest() -> None:
    (note,) = bundle_status.bundle_transitions(PENDING, UNPACKED)
    assert note.message == f"Successfully unpacked the configMaps Bundle, {DIGEST}"
    (note,) = bundle_status.bundle_transitions(PENDING, failing(f"{LONG}\nmore"))
    assert note.message == LONG

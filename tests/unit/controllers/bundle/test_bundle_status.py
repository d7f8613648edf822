"""Status and Events of a Bundle after each thing that can happen to it."""

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle, BundleStatus
from rukpak_py.api.names import BundlePhase, Reason
from rukpak_py.api.template_hash import spec_digest
from rukpak_py.controllers.result.bundle_details import (
    ContentMissing,
    DigestReplaced,
    OtherContentFound,
    SpecReplaced,
    Unpacking,
    UploadLost,
)
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclude import conclude
from rukpak_py.controllers.result.conclusion import Clock, Conclusion, KeyFacts
from rukpak_py.controllers.result.errors import FETCH_ERRORS
from rukpak_py.controllers.result.progress import (
    NO_PROGRESS,
    Fact,
    Progress,
    Reached,
    StatusChange,
    UnpackedContent,
    Words,
)
from rukpak_py.core.errors import AccessError, ConflictError, ContentError, RukPakError, UnavailableError
from tests.unit.controllers.fakes import LATER, NOW
from tests.unit.controllers.values import DIGEST, OTHER_DIGEST, START, conditions, source, spec
from tests.unit.controllers.values import bundle as new_bundle

FRESH = new_bundle(generation=3)
CONTENT = UnpackedContent(digest=DIGEST, source=source("resolved"), spec_digest=spec_digest(FRESH.spec))
UNPACKS = Progress(change=StatusChange(content=CONTENT), reached=Reached.FINISHED)
SPEC_CHANGES = Progress(facts=(Fact(cause=Cause.SPEC_CHANGED, detail=SpecReplaced()),))
OTHER_CONTENT = Progress(
    facts=(Fact(cause=Cause.CONTENT_CHANGED, detail=OtherContentFound(found=OTHER_DIGEST, unpacked=DIGEST)),)
)
RUNS = Progress(facts=(Fact(cause=Cause.UNPACKING, detail=Unpacking(source="configMaps"), since=-1.0),))


def fails(message: str = "m", error: RukPakError | None = None) -> Progress:
    cause = FETCH_ERRORS.cause_of(error or UnavailableError(message))
    return Progress(facts=(Fact(cause=cause, detail=Words(words=message)),))


def concluded(before: BundleStatus, progress: Progress, *, later: float = 0.0) -> Conclusion[BundleStatus]:
    key = KeyFacts(generation=FRESH.metadata.generation)
    return conclude(before, progress, NO_PROGRESS, key, Clock(loop=later, wall=START + later))


def after(progress: Progress, before: BundleStatus = FRESH.status, *, later: float = 0.0) -> BundleStatus:
    return concluded(before, progress, later=later).status


UNPACKED = after(UNPACKS)
LATER_SECONDS = 86_400.0  # from NOW to LATER


def test_a_bundle_that_unpacks_reports_its_source() -> None:
    status = after(RUNS)
    assert status.phase == BundlePhase.UNPACKING
    assert conditions(status) == {
        "Unpacked": ("False", "Unpacking", ""),
        "Ready": ("Unknown", "Unpacking", "Unpacking the configMaps Bundle"),
        "Reconciling": ("True", "Unpacking", "Unpacking the configMaps Bundle"),
    }


def test_an_unpacked_bundle_reports_its_digest_and_its_source() -> None:
    message = "Successfully unpacked the configMaps Bundle"
    assert conditions(UNPACKED) == {
        "Unpacked": ("True", "UnpackSuccessful", message),
        "Ready": ("True", "UnpackSuccessful", message),
    }
    assert (UNPACKED.phase, UNPACKED.digest) == (BundlePhase.UNPACKED, DIGEST)
    assert (UNPACKED.resolved_source, UNPACKED.spec_digest) == (source("resolved"), spec_digest(FRESH.spec))


@pytest.mark.parametrize(
    ("error", "reason", "beside", "told"),
    [
        (ContentError("m"), "ContentError", "Stalled", "source bundle content: m"),
        (
            AccessError("m"),
            "AccessDenied",
            "Reconciling",
            "source bundle content: m; attempt 1, next at 00:05:00Z",
        ),
        (ConflictError("m"), "Conflict", "Reconciling", "source bundle content: m"),
        (UnavailableError("m"), "Unavailable", "Reconciling", "source bundle content: m"),
        (RukPakError("m"), "Retrying", "Reconciling", "source bundle content: m"),
    ],
)
def test_a_bundle_that_fails_to_unpack_reports_the_error(
    error: RukPakError, reason: str, beside: str, told: str
) -> None:
    status = after(fails("source bundle content: m", error))
    assert status.phase == BundlePhase.FAILING
    assert conditions(status) == {
        "Unpacked": ("False", "UnpackFailed", "source bundle content: m"),
        "Ready": ("False", reason, told),
        beside: ("True", reason, told),
    }
    assert (status.digest, status.resolved_source) == ("", None)


@pytest.mark.parametrize("progress", [fails(), OTHER_CONTENT])
def test_failing_keeps_what_was_pinned(progress: Progress) -> None:
    status = after(progress, UNPACKED)
    assert (status.digest, status.resolved_source) == (DIGEST, source("resolved"))
    assert status.spec_digest
    assert status.phase == BundlePhase.FAILING


def test_other_content_than_the_pinned_one_is_reported() -> None:
    found = conditions(after(OTHER_CONTENT, UNPACKED))
    for kind in ("Unpacked", "Ready"):
        value, reason, message = found[kind]
        assert (value, reason) == ("False", Reason.CONTENT_CHANGED)
        assert DIGEST in message
        assert OTHER_DIGEST in message
        assert "create a new Bundle" in message
    assert "Reconciling" in found


def test_a_spec_that_was_changed_past_the_webhook() -> None:
    status = after(SPEC_CHANGES, UNPACKED)
    assert conditions(status)["Unpacked"][0] == "True", "what was unpacked stays what the Bundle is"
    assert conditions(status)["Ready"][:2] == ("False", Reason.SPEC_CHANGED)
    assert "Stalled" in conditions(status)
    assert (status.phase, status.digest) == (BundlePhase.UNPACKED, DIGEST)


DIGEST_CHANGES = Progress(facts=(Fact(cause=Cause.DIGEST_CHANGED, detail=DigestReplaced(recorded=DIGEST)),))
UPLOAD_LOST = Progress(facts=(Fact(cause=Cause.CONTENT_LOST, detail=UploadLost(unpacked=DIGEST)),))
MISSING = UNPACKS + Progress(facts=(Fact(cause=Cause.CONTENT_MISSING, detail=ContentMissing(why="502")),))
ALL = [RUNS, UNPACKS, fails(error=ContentError("m")), fails(), OTHER_CONTENT, SPEC_CHANGES, DIGEST_CHANGES, UPLOAD_LOST]


@pytest.mark.parametrize("progress", ALL)
def test_every_status_speaks_of_this_generation_and_has_every_condition(progress: Progress) -> None:
    status = after(progress)
    assert status.observed_generation == 3
    assert {condition.observed_generation for condition in status.conditions} == {3}
    assert {"Unpacked", "Ready"} <= conditions(status).keys()
    assert not {"Reconciling", "Stalled"} <= conditions(status).keys()
    assert len(conditions(status)) == len(status.conditions)


@pytest.mark.parametrize("progress", ALL)
def test_saying_the_same_again_later_changes_nothing(progress: Progress) -> None:
    """Else every retry would be a write."""
    once = after(fails(), after(progress), later=LATER_SECONDS)
    assert after(fails(), once, later=2 * LATER_SECONDS) == once


def test_the_time_of_a_transition_moves_with_the_status_alone() -> None:
    still = after(fails("another"), after(fails("one")), later=LATER_SECONDS)
    assert {condition.last_transition_time for condition in still.conditions} == {NOW}
    better = after(UNPACKS, still, later=LATER_SECONDS)
    assert {condition.last_transition_time for condition in better.conditions} == {LATER}


def test_a_long_message_is_cut_and_fits_the_schema() -> None:
    status = after(fails("x" * 100_000))
    assert max(len(condition.message) for condition in status.conditions) <= 32_000


PENDING = BundleStatus()
BUSY = after(RUNS)
FAILING = after(fails())
CHANGED = after(OTHER_CONTENT, UNPACKED)
EDITED = after(SPEC_CHANGES, UNPACKED)
LOST = after(MISSING, UNPACKED)
LONG = "source bundle content: " + "x" * 500


@pytest.mark.parametrize(
    ("before", "progress", "expected"),
    [
        (PENDING, RUNS, []),
        (PENDING, UNPACKS, [("Normal", "Unpacked")]),
        (BUSY, UNPACKS, [("Normal", "Unpacked")]),
        (UNPACKED, UNPACKS, []),
        (BUSY, fails(), [("Warning", "UnpackFailed")]),
        (FAILING, fails(), []),
        (FAILING, fails("other"), [("Warning", "UnpackFailed")]),
        (FAILING, UNPACKS, [("Normal", "Unpacked")]),
        (UNPACKED, OTHER_CONTENT, [("Warning", "ContentChanged")]),
        (CHANGED, OTHER_CONTENT, []),
        (UNPACKED, SPEC_CHANGES, [("Warning", "SpecChanged")]),
        (EDITED, SPEC_CHANGES, []),
        (EDITED, UNPACKS, [("Normal", "UnpackSuccessful")]),
        (UNPACKED, MISSING, [("Warning", "UnpackFailed")]),
        (LOST, MISSING, []),
        (LOST, UNPACKS, []),
    ],
)
def test_a_transition_is_told_once(before: BundleStatus, progress: Progress, expected: list[tuple[str, str]]) -> None:
    events = concluded(before, progress).events
    assert [(note.type.value, note.reason) for note in events] == expected


def test_an_event_has_the_whole_line_and_the_digest() -> None:
    (note,) = concluded(PENDING, UNPACKS).events
    assert note.message == f"Successfully unpacked the configMaps Bundle, {DIGEST}"
    (note,) = concluded(PENDING, fails(f"{LONG}\nmore")).events
    assert note.message == LONG


def test_a_status_of_a_release_without_notes_repeats_no_event() -> None:
    former = replace(FAILING, notes=())
    conclusion = concluded(former, fails(), later=LATER_SECONDS)
    assert conclusion.events == ()
    assert replace(conclusion.status, notes=()) == former


def test_the_spec_that_was_unpacked_is_remembered_for_ever() -> None:
    changed: Bundle = replace(FRESH, spec=spec("others"))
    assert after(UNPACKS, UNPACKED).spec_digest != spec_digest(changed.spec)

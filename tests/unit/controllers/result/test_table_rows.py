"""Every row of the table alone: what users see of the cause, and when the key comes back."""

from dataclasses import dataclass

import pytest

from rukpak_py.api.conditions import find_condition
from rukpak_py.api.names import ConditionType
from rukpak_py.controllers.result.cause_table import TABLE
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclude import conclude
from rukpak_py.controllers.result.conclusion import AnyStatus, Conclusion, KeyFacts
from rukpak_py.controllers.result.progress import NO_PROGRESS, Progress, Reached
from rukpak_py.controllers.result.reported_facts import Side
from tests.unit.controllers.result.concluding import (
    FRESH,
    NEW_BUNDLE,
    NOW,
    after,
    at,
    content,
    fact,
    installed,
    progress,
    turn,
)

C = Cause
FAILURES = 3  # in a row before this one: the next pause is 2 s
BACK_OFF = 2.0
HELD_WAITS = {
    C.UPLOAD_PENDING,
    C.IMAGE_DENIED,
    C.IMAGE_NOT_FOUND,
    C.REGISTRY_UNUSABLE,
    C.IMAGE_PENDING,
    C.IMAGE_COMING,
    C.UPGRADE_NOT_APPROVED,
    C.UPGRADE_DEPENDENCY,
    C.UPGRADE_OUTSIDE_WINDOW,
}
HELD, LOOK, WOKEN = "held", "look", "woken"
WELL = progress(reached=Reached.FINISHED, valid="b1", installed=installed())
READY = after(FRESH, NO_PROGRESS, WELL)
IS_UNPACKED = progress(reached=Reached.FINISHED, content=content())

NO_BUNDLE = "HasValidBundle Unknown ReconcileFailed"
NOT_LOADED = "HasValidBundle False BundleLoadFailed"
NOT_UNPACKED = "HasValidBundle False UnpackFailed"
NOT_INSTALLED = "Installed False InstallFailed"
IS_INSTALLED = "Installed True InstallationSucceeded"
NOT_FETCHED = "Unpacked False UnpackFailed"
PENDING = "Unpacked False UnpackPending"
PROGRESSING = "Unknown Progressing Reconciling"
SUCCEEDED = "True Succeeded"


@dataclass(frozen=True)
class Seen:
    """`back`: seconds until the next attempt; `woken`: a watch or nothing brings one; `held`: the same, and looks
    begin none. `quiet`: it is told after so many seconds, and not before.
    """

    cause: Cause
    aspect: str
    ready: str
    event: str
    back: float | str = WOKEN
    quiet: float = 0.0


# Failures that a look finds without an attempt
FOUND = {C.CLASS_UNKNOWN, C.ACCOUNT_REQUIRED, C.NOT_JUDGED, C.DIGEST_CHANGED, C.SPEC_CHANGED}

# Of content that is wanted, where nothing is installed
WANTED = [
    Seen(C.SUSPENDED, "", "Unknown Suspended", "Normal Suspended"),
    Seen(C.CLASS_NOT_SERVED, "", "Unknown ClassNotServed", "Warning ClassNotServed"),
    Seen(C.CLASS_UNKNOWN, "", "False ClassUnknown Stalled", "Warning ClassUnknown"),
    Seen(C.ACCOUNT_REQUIRED, "", "False AccountRequired Stalled", "Warning AccountRequired"),
    Seen(C.POLICY_MISSING, "", "False PolicyMissing Reconciling", "Warning PolicyMissing"),
    Seen(C.NOT_JUDGED, "", "False NotJudged Stalled", "Warning NotJudged"),
    Seen(C.UNPACK_CLASS, "HasValidBundle False ClassUnknown", "False ClassUnknown Stalled", "Warning ClassUnknown"),
    Seen(C.STATUS_TOO_LARGE, "", "False StatusTooLarge Stalled", "Warning StatusTooLarge"),
    Seen(C.BUNDLE_CONTENT, NO_BUNDLE, "False ContentError Stalled", "Warning ReconcileFailed"),
    Seen(C.BUNDLE_REFUSED, NO_BUNDLE, "False ReconcileFailed Reconciling", "Warning ReconcileFailed", BACK_OFF),
    Seen(C.BUNDLE_DENIED, NO_BUNDLE, "False AccessDenied Reconciling", "Warning ReconcileFailed", BACK_OFF, 10),
    Seen(C.BUNDLE_CONFLICT, NO_BUNDLE, "False Conflict Reconciling", "Warning ReconcileFailed", BACK_OFF),
    Seen(C.BUNDLE_UNAVAILABLE, NO_BUNDLE, "False Unavailable Reconciling", "Warning ReconcileFailed", BACK_OFF, 1),
    Seen(C.BUNDLE_FAILED, NO_BUNDLE, "False Retrying Reconciling", "Warning ReconcileFailed", BACK_OFF, 10),
    Seen(C.VALUES_CONTENT, NOT_LOADED, "False ContentError Stalled", "Warning BundleLoadFailed"),
    Seen(C.VALUES_MISSING, NOT_LOADED, "False Unavailable Reconciling", "Warning BundleLoadFailed"),
    Seen(C.VALUES_DENIED, NOT_LOADED, "False AccessDenied Reconciling", "Warning BundleLoadFailed", BACK_OFF, 10),
    Seen(C.VALUES_CONFLICT, NOT_LOADED, "False Conflict Reconciling", "Warning BundleLoadFailed", BACK_OFF, 10),
    Seen(C.VALUES_UNAVAILABLE, NOT_LOADED, "False Unavailable Reconciling", "Warning BundleLoadFailed", BACK_OFF, 10),
    Seen(C.VALUES_FAILED, NOT_LOADED, "False Retrying Reconciling", "Warning BundleLoadFailed", BACK_OFF, 10),
    Seen(C.RENDERING_CONTENT, NOT_LOADED, "False ContentError Stalled", "Warning BundleLoadFailed"),
    Seen(C.RENDERING_DENIED, NOT_LOADED, "False AccessDenied Reconciling", "Warning BundleLoadFailed", BACK_OFF),
    Seen(C.RENDERING_CONFLICT, NOT_LOADED, "False Conflict Reconciling", "Warning BundleLoadFailed", BACK_OFF),
    Seen(C.RENDERING_UNAVAILABLE, NOT_LOADED, "False Unavailable Reconciling", "Warning BundleLoadFailed", BACK_OFF),
    Seen(C.RENDERING_FAILED, NOT_LOADED, "False Retrying Reconciling", "Warning BundleLoadFailed", BACK_OFF),
    Seen(C.UNPACK_CONTENT, NOT_UNPACKED, "False ContentError Stalled", "Warning UnpackFailed"),
    Seen(C.UNPACK_DENIED, NOT_UNPACKED, "False AccessDenied Reconciling", "Warning UnpackFailed"),
    Seen(C.UNPACK_CONFLICT, NOT_UNPACKED, "False Conflict Reconciling", "Warning UnpackFailed"),
    Seen(C.UNPACK_UNAVAILABLE, NOT_UNPACKED, "False Unavailable Reconciling", "Warning UnpackFailed"),
    Seen(C.UNPACK_FAILED, NOT_UNPACKED, "False Retrying Reconciling", "Warning UnpackFailed"),
    Seen(C.UNPACK_CHANGED, NOT_UNPACKED, "False ContentChanged Reconciling", "Warning UnpackFailed"),
    Seen(C.UNPACK_LOST, NOT_UNPACKED, "False ContentLost Stalled", "Warning UnpackFailed"),
    Seen(C.ACCOUNT_MISSING, NOT_INSTALLED, "False AccountMissing Reconciling", "Warning InstallFailed", BACK_OFF),
    Seen(
        C.DEPENDENCY_CYCLE,
        "Installed False DependencyCycle",
        "False DependencyCycle Stalled",
        "Warning DependencyCycle",
    ),
    Seen(
        C.DEPENDENCY_MISSING,
        "Installed False DependencyMissing",
        "False DependencyMissing Reconciling",
        "Warning DependencyMissing",
        WOKEN,
        1,
    ),
    Seen(C.NOT_APPLICABLE, NOT_INSTALLED, "False InstallFailed Stalled", "Warning InstallFailed"),
    Seen(C.HOOK_FAILED, NOT_INSTALLED, "False InstallFailed Stalled", "Warning InstallFailed"),
    Seen(C.HOOKS_UNKNOWN, NOT_INSTALLED, "False InstallFailed Stalled", "Warning InstallFailed"),
    Seen(C.GENERATED_VALUES, NOT_INSTALLED, "False InstallFailed Stalled", "Warning InstallFailed"),
    Seen(C.PERMISSIONS_MISSING, NOT_INSTALLED, "False PermissionsMissing Reconciling", "Warning InstallFailed", 30.0),
    Seen(C.KIND_MISSING, NOT_INSTALLED, "False InstallFailed Reconciling", "Warning InstallFailed", BACK_OFF),
    Seen(C.NAMESPACE_MISSING, NOT_INSTALLED, "False InstallFailed Reconciling", "Warning InstallFailed", BACK_OFF),
    Seen(C.RESOURCE_MISSING, NOT_INSTALLED, "False InstallFailed Reconciling", "Warning InstallFailed", BACK_OFF),
    Seen(C.REFUSED, NOT_INSTALLED, "False InstallFailed Reconciling", "Warning InstallFailed", BACK_OFF),
    Seen(C.ACCESS, NOT_INSTALLED, "False InstallFailed Reconciling", "Warning InstallFailed", BACK_OFF),
    Seen(C.UNAVAILABLE, NOT_INSTALLED, "False InstallFailed Reconciling", "Warning InstallFailed", BACK_OFF),
    Seen(C.HOOK_NOT_RUN, NOT_INSTALLED, "False InstallFailed Reconciling", "Warning InstallFailed", BACK_OFF),
    Seen(C.DELETION_FAILED, NOT_INSTALLED, "False InstallFailed Reconciling", "Warning InstallFailed", BACK_OFF),
    Seen(C.ORPHANING_FAILED, NOT_INSTALLED, "False InstallFailed Reconciling", "Warning InstallFailed", BACK_OFF),
    Seen(C.DATA_LOSS, "", "False Deleting Reconciling", "Warning Deleting", BACK_OFF, 10),
    Seen(C.CONFLICT, NOT_INSTALLED, "False Conflict Reconciling", "Warning InstallFailed", BACK_OFF),
    Seen(C.KINDS_HELD_BACK_DENIED, NOT_INSTALLED, "False AccessDenied Reconciling", "Warning InstallFailed", 60.0, 10),
    Seen(C.KINDS_HELD_BACK, NOT_INSTALLED, "False Unavailable Reconciling", "Warning InstallFailed", 60.0, 10),
    Seen(C.MIRROR_CONTENT, "", "False ContentError Stalled", "Warning ContentError"),
    Seen(C.MIRROR_DENIED, "", "False AccessDenied Reconciling", "Warning AccessDenied", BACK_OFF),
    Seen(C.MIRROR_CONTESTED, "", "False FieldsContested Reconciling", "Warning FieldsContested", BACK_OFF),
    Seen(C.MIRROR_CONFLICT, "", "False Conflict Reconciling", "Warning Conflict", BACK_OFF),
    Seen(C.MIRROR_UNAVAILABLE, "", "False Unavailable Reconciling", "Warning Unavailable", BACK_OFF),
    Seen(C.MIRROR_FAILED, "", "False Retrying Reconciling", "Warning Retrying", BACK_OFF),
    Seen(C.API_DENIED, "", "False AccessDenied Reconciling", "Warning AccessDenied", BACK_OFF, 10),
    Seen(C.API_CONFLICT, "", "False Conflict Reconciling", "Warning Conflict", BACK_OFF, 10),
    Seen(C.API_UNAVAILABLE, "", "False Unavailable Reconciling", "Warning Unavailable", BACK_OFF, 10),
    Seen(C.API_FAILED, "", "False Retrying Reconciling", "Warning Retrying", BACK_OFF, 10),
    Seen(
        C.BUNDLE_CLASS_NOT_SERVED,
        "HasValidBundle Unknown BundleClassNotServed",
        "Unknown BundleClassNotServed Reconciling",
        "Warning BundleClassNotServed",
        WOKEN,
        1,
    ),
    Seen(C.BUNDLE_UNPACKING, "HasValidBundle Unknown UnpackPending", "Unknown UnpackPending Reconciling", "", WOKEN, 1),
    Seen(C.REFETCHING, "", PROGRESSING, "", 30.0, 1),
    Seen(C.RENDERING, "", PROGRESSING, "", 30.0, 1),
    Seen(C.DEPENDENCY_NOT_READY, "Installed Unknown DependencyNotReady", "Unknown DependencyNotReady Reconciling", ""),
    Seen(C.APPLYING, "", PROGRESSING, ""),
    Seen(C.SCHEMA_LAGS, "", PROGRESSING, "", 0.5, 1),
    Seen(C.OBJECT_CHANGED, "", PROGRESSING, "", 0.5, 1),
    Seen(C.FORMER_HOOK, "", PROGRESSING, "Warning HookGivenUp", 5.0),
    Seen(C.KINDS_COMING, "", PROGRESSING, "", 30.0, 1),
    Seen(C.ANSWERS_SLOWLY, "", PROGRESSING, "", 0.5),
    Seen(C.OBJECTS_PENDING, "", PROGRESSING, "", 30.0, 1),
    Seen(C.HOOK_RUNNING, "", PROGRESSING, "", 30.0, 1),
    Seen(C.ORPHANING, "", "Unknown Deleting Reconciling", "", 5.0),
    Seen(C.DELETING, "", "Unknown Deleting Reconciling", "", 5.0),
    Seen(C.HOOKS_SKIPPED, "", "", ""),
    Seen(C.HOOKS_BEGIN_AGAIN, "", "", ""),
    Seen(C.FORMER_HOOK_LEFT, "", "", ""),
    Seen(C.JOB_RUNNING, "", "", ""),
    Seen(C.NOT_DUE, "", "", ""),
    Seen(C.REQUEST_OPEN, "", "", ""),
    Seen(C.LOOK_AGAIN, "", "", "", 1.0),
    Seen(C.UNPACK_POD, "", "", "Normal UnpackPod"),
]

# Of content that is installed
INSTALLED = [
    Seen(C.ROLLED_BACK, "", "False RolledBack Stalled", "Warning RolledBack"),
    Seen(C.RENDERING_LOST, IS_INSTALLED, "False ReconcileFailed Stalled", "Warning ReconcileFailed"),
    Seen(C.OPTIONS_LOST, IS_INSTALLED, "False ReconcileFailed Reconciling", "Warning ReconcileFailed"),
    Seen(C.NOT_CORRECTED, IS_INSTALLED, "False ReconcileFailed Reconciling", "Warning ReconcileFailed", BACK_OFF),
    Seen(C.PRUNE_FAILED, IS_INSTALLED, "False Retrying Reconciling", "Warning Retrying", BACK_OFF),
    Seen(C.PRUNE_BUDGET, IS_INSTALLED, "False PruneBudgetExceeded Stalled", "Warning PruneBudgetExceeded"),
    Seen(C.FIELDS_CONTESTED, IS_INSTALLED, "False FieldsContested Reconciling", "Warning FieldsContested", 60.0),
    Seen(C.CERTIFICATES_CONTESTED, IS_INSTALLED, "False FieldsContested Reconciling", "Warning FieldsContested"),
    Seen(C.KINDS_HIDDEN_DENIED, IS_INSTALLED, "False AccessDenied Reconciling", "Warning AccessDenied", 60.0, 10),
    Seen(C.KINDS_HIDDEN, IS_INSTALLED, "False Unavailable Reconciling", "Warning Unavailable", 60.0, 10),
    Seen(C.UNHEALTHY_FAILED, "Healthy False Unhealthy", "False Unhealthy Reconciling", "Warning Unhealthy"),
    Seen(C.STILL_UNHEALTHY, "Healthy False Unhealthy", "Unknown StillUnhealthy Reconciling", "Warning Unhealthy"),
    Seen(C.UNHEALTHY, "Healthy False Unhealthy", "Unknown Unhealthy Reconciling", ""),
    Seen(C.PRUNING, IS_INSTALLED, PROGRESSING, "", 30.0),
    Seen(
        C.UPGRADE_NOT_APPROVED, "UpgradePending True NotApproved", "True UpgradePending", "Normal UpgradePending", HELD
    ),
    Seen(
        C.UPGRADE_DEPENDENCY,
        "UpgradePending True DependencyNotReady",
        "True UpgradePending",
        "Normal UpgradePending",
        HELD,
    ),
    Seen(
        C.UPGRADE_OUTSIDE_WINDOW,
        "UpgradePending True OutsideWindow",
        "True UpgradePending",
        "Normal UpgradePending",
        HELD,
    ),
    Seen(C.ROLLBACK_REFUSED, IS_INSTALLED, SUCCEEDED, "Warning RollbackRefused"),
    Seen(C.HALF_UPGRADED, IS_INSTALLED, SUCCEEDED, ""),
    Seen(C.OVERRIDE_UNMATCHED, IS_INSTALLED, SUCCEEDED, "Warning OverrideUnmatched"),
    Seen(C.PATCH_UNMATCHED, IS_INSTALLED, SUCCEEDED, "Warning PatchUnmatched"),
    Seen(C.DEPENDENCY_UNUSABLE, IS_INSTALLED, SUCCEEDED, "Warning DependencyUnusable"),
    Seen(C.FIELDS_LEFT_OUT, IS_INSTALLED, SUCCEEDED, "Warning FieldsLeftOut"),
    Seen(C.CRD_WARNING, IS_INSTALLED, SUCCEEDED, "Warning CRDWarning"),
    Seen(C.ORDER_NOT_KEPT, IS_INSTALLED, SUCCEEDED, "Warning OrderNotKept"),
    Seen(C.HOOKS_SKIPPED, IS_INSTALLED, SUCCEEDED, "Normal HooksSkipped"),
    Seen(C.HOOKS_BEGIN_AGAIN, IS_INSTALLED, SUCCEEDED, "Warning HooksBeginAgain"),
    Seen(C.FORMER_HOOK_LEFT, IS_INSTALLED, SUCCEEDED, "Warning HookEnded"),
    Seen(C.KEPT, IS_INSTALLED, SUCCEEDED, "Normal Kept"),
    Seen(C.COPIED, IS_INSTALLED, SUCCEEDED, "Warning Copied"),
    Seen(C.SHARED_UNOWNED, IS_INSTALLED, SUCCEEDED, "Warning SharedUnowned"),
    Seen(C.SHARED_DIFFERS, IS_INSTALLED, SUCCEEDED, "Warning SharedDiffers"),
    Seen(C.SHARED, IS_INSTALLED, SUCCEEDED, "Normal Shared"),
    Seen(C.HISTORY_CUT, IS_INSTALLED, SUCCEEDED, ""),
    Seen(C.PRUNE_HELD_BACK, "Healthy True Healthy", SUCCEEDED, "", WOKEN, 600),
    Seen(C.DRIFT_CORRECTED, IS_INSTALLED, SUCCEEDED, "Normal DriftCorrected"),
    Seen(C.PRUNED, IS_INSTALLED, SUCCEEDED, "Normal Pruned"),
    Seen(C.RELEASED, IS_INSTALLED, SUCCEEDED, "Normal Released"),
    Seen(C.REPLACED, IS_INSTALLED, SUCCEEDED, "Normal Replaced"),
    Seen(C.ADOPTED, IS_INSTALLED, SUCCEEDED, "Normal Adopted"),
    Seen(C.CERTIFICATES_RENEWED, IS_INSTALLED, SUCCEEDED, "Normal CertificatesRenewed"),
    Seen(C.ORPHANED, IS_INSTALLED, SUCCEEDED, "Normal Orphaned"),
    Seen(C.WITHDRAWN, IS_INSTALLED, SUCCEEDED, "Warning Withdrawn"),
    Seen(C.FORMER_HOOK_ENDED, IS_INSTALLED, SUCCEEDED, "Normal HookEnded"),
    Seen(C.FORMER_HOOK_FAILED, IS_INSTALLED, SUCCEEDED, "Warning HookEnded"),
]

# Of a Bundle
BUNDLE = [
    Seen(C.FETCH_CONTENT, NOT_FETCHED, "False ContentError Stalled", "Warning UnpackFailed"),
    Seen(C.FETCH_DENIED, NOT_FETCHED, "False AccessDenied Reconciling", "Warning UnpackFailed", 300.0),
    Seen(C.FETCH_NOT_FOUND, NOT_FETCHED, "False Unavailable Reconciling", "Warning UnpackFailed", 60.0),
    Seen(C.FETCH_CONFLICT, NOT_FETCHED, "False Conflict Reconciling", "Warning UnpackFailed", BACK_OFF),
    Seen(C.FETCH_UNAVAILABLE, NOT_FETCHED, "False Unavailable Reconciling", "Warning UnpackFailed", BACK_OFF),
    Seen(C.FETCH_FAILED, NOT_FETCHED, "False Retrying Reconciling", "Warning UnpackFailed", BACK_OFF),
    Seen(
        C.CONTENT_CHANGED,
        "Unpacked False ContentChanged",
        "False ContentChanged Reconciling",
        "Warning ContentChanged",
        BACK_OFF,
    ),
    Seen(C.DIGEST_CHANGED, "Unpacked False ContentChanged", "False ContentChanged Stalled", "Warning ContentChanged"),
    Seen(C.CONTENT_LOST, "Unpacked False ContentLost", "False ContentLost Stalled", "Warning ContentLost"),
    Seen(C.SPEC_CHANGED, "", "False SpecChanged Stalled", "Warning SpecChanged"),
    Seen(C.UPLOAD_PENDING, PENDING, "Unknown UnpackPending Reconciling", "", HELD),
    Seen(C.IMAGE_DENIED, PENDING, "Unknown UnpackPending Reconciling", "", 60.0),
    Seen(C.IMAGE_NOT_FOUND, PENDING, "Unknown UnpackPending Reconciling", "", 60.0),
    Seen(C.REGISTRY_UNUSABLE, PENDING, "Unknown UnpackPending Reconciling", "", 60.0),
    Seen(C.IMAGE_PENDING, PENDING, "Unknown UnpackPending Reconciling", "", 60.0),
    Seen(C.IMAGE_COMING, "", "", "", 60.0),
    Seen(C.CONTENT_MISSING, "Unpacked True UnpackSuccessful", "True UnpackSuccessful", "Warning UnpackFailed"),
    Seen(C.UNPACKING, "Unpacked False Unpacking", "Unknown Unpacking Reconciling", "", WOKEN, 1),
]


def _conclusion(one: Seen, lasted: float, failures: int = FAILURES) -> Conclusion[AnyStatus]:
    before: AnyStatus = FRESH
    key, found = KeyFacts(generation=1, bundle="b1", turn=turn(failures)), progress(fact(one.cause, since=NOW - lasted))
    if one in BUNDLE:
        before = NEW_BUNDLE
    if one.cause is C.CONTENT_MISSING:
        before, found = after(NEW_BUNDLE, IS_UNPACKED), found + IS_UNPACKED
    sides = {Side.WANTED: found, Side.INSTALLED: NO_PROGRESS}
    if one in INSTALLED:
        before, reached = READY, Reached.FINISHED if "True" in one.ready else Reached.APPLIED
        sides = {Side.WANTED: NO_PROGRESS, Side.INSTALLED: found + Progress(reached=reached)}
    return conclude(before, sides[Side.WANTED], sides[Side.INSTALLED], key, at(NOW))


def _told(status: AnyStatus, name: str) -> str:
    found = find_condition(status.conditions, ConditionType(name))
    return f"{name} {found.status} {found.reason}" if found is not None else ""


def _ready(status: AnyStatus) -> str:
    beside = [one.type for one in status.conditions if one.type in {"Reconciling", "Stalled"}]
    return " ".join([_told(status, "Ready").removeprefix("Ready "), *beside])


ALL = [*WANTED, *INSTALLED, *BUNDLE]


@pytest.mark.parametrize("one", ALL, ids=[f"{one.cause}-{number}" for number, one in enumerate(ALL)])
def test_a_cause_is_reported_as_its_row_says(one: Seen) -> None:
    found = _conclusion(one, one.quiet)
    status, events = found.status, [f"{event.type} {event.reason}" for event in (*found.happened, *found.events)]

    assert _ready(status) == one.ready
    assert _told(status, one.aspect.split()[0] if one.aspect else "Ready") == (one.aspect or _told(status, "Ready"))
    assert events == ([one.event] if one.event else [])
    pause = found.schedule.attempt_at - NOW if found.schedule.attempt_at is not None else None
    assert pause == (None if isinstance(one.back, str) else one.back)


@pytest.mark.parametrize("one", ALL, ids=[f"{one.cause}-{number}" for number, one in enumerate(ALL)])
def test_a_failure_begins_no_attempt_before_its_time_or_a_wake_up(one: Seen) -> None:
    schedule = _conclusion(one, one.quiet, failures=0).schedule
    row = TABLE[one.cause]

    is_failure = "False" in one.ready and one.cause not in FOUND
    is_held = is_failure or one.cause in HELD_WAITS
    assert (schedule.failures > 0) == is_held
    assert row.is_held == is_held
    assert schedule.is_under_way == (one.cause is C.JOB_RUNNING)


@pytest.mark.parametrize("one", [one for one in ALL if one.quiet], ids=lambda one: one.cause)
def test_a_cause_that_may_end_by_itself_is_quiet_at_first(one: Seen) -> None:
    found = _conclusion(one, one.quiet - 0.5)

    assert not found.events
    assert found.schedule.report_at == NOW + 0.5
    if TABLE[one.cause].kind.name != "NOTE":
        assert not found.status.notes


@pytest.mark.parametrize(
    "one", [one for one in ALL if one.aspect and TABLE[one.cause].is_line], ids=lambda one: one.cause
)
def test_a_line_stands_below_what_its_condition_says(one: Seen) -> None:
    status = _conclusion(one, one.quiet).status
    found = find_condition(status.conditions, ConditionType(TABLE[one.cause].aspect or "Ready"))

    if TABLE[one.cause].aspect is not None:
        assert found is not None
        assert found.message.endswith("\nit is so")
    else:
        assert not any("it is so" in condition.message for condition in status.conditions)


def test_every_cause_has_a_row_and_a_case() -> None:
    assert list(TABLE) == list(Cause)
    assert {one.cause for one in ALL} == set(Cause)


def test_the_order_of_the_rows_is_their_rank() -> None:
    assert sorted(Cause, key=lambda cause: cause.rank) == list(TABLE)

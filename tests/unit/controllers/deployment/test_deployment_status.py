"""What a deployment's status says, and the texts of failures."""

import dataclasses

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, InstalledKind
from rukpak_py.api.conditions import Summary
from rukpak_py.api.names import RECONCILE_AT_ANNOTATION, Reason
from rukpak_py.apply.preflight import Refusal
from rukpak_py.apply.results import Failure, FailureKind
from rukpak_py.controllers.deployment import failure_reports
from rukpak_py.controllers.deployment.status import (
    SUSPENDED,
    Report,
    installed,
    not_served,
    status_of,
    summary_of_bundle,
    validity,
)
from rukpak_py.controllers.result.bundle_details import ContentPending, Unpacking
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.objects import ObjectKey
from tests.unit.controllers.fakes import LATER, NOW
from tests.unit.controllers.values import bundle, conditions, deployment, failing, telling, unpacked

FRESH = deployment(generation=4)
INSTALLED = deployment(status=BundleDeploymentStatus(active_bundle="former"))
REPORT = Report(summary=Summary.PROGRESSING, reason=Reason.PROGRESSING, message="Applying 1 object")


def failed(error: RukPakError, message: str) -> Bundle:
    return failing(bundle(), message, error)


@pytest.mark.parametrize(
    ("one", "status", "reason", "message"),
    [
        (unpacked(), "True", "UnpackSuccessful", "Successfully unpacked the b Bundle"),
        (bundle(), "Unknown", "UnpackPending", "Waiting for the b Bundle to be unpacked"),
        (
            telling(bundle(), Cause.UNPACKING, Unpacking(source="configMaps")),
            "Unknown",
            "UnpackPending",
            "Waiting for the b Bundle to be unpacked",
        ),
        (failed(ContentError("m"), "why"), "False", "UnpackFailed", "Failed to unpack the b Bundle: why"),
    ],
)
def test_has_valid_bundle(one: Bundle, status: str, reason: str, message: str) -> None:
    aspect = validity(one)
    assert (aspect.status, aspect.reason, aspect.message) == (status, reason, message)


@pytest.mark.parametrize(
    ("one", "summary"),
    [
        (bundle(), Summary.PROGRESSING),
        (failed(ContentError("m"), "m"), Summary.STALLED),
        (failed(UnavailableError("m"), "m"), Summary.RETRYING),
    ],
)
def test_a_deployment_is_as_its_bundle_is(one: Bundle, summary: Summary) -> None:
    report = summary_of_bundle(one, validity(one))
    assert (report.summary, report.valid, report.message) == (summary, validity(one), validity(one).message)


def test_what_holds_its_bundle_up_is_told() -> None:
    detail = ContentPending(source="image", message='Back-off pulling image "x"')
    report = summary_of_bundle(one := telling(bundle(), Cause.IMAGE_PENDING, detail), validity(one))
    assert report.message == 'Waiting for the b Bundle to be unpacked: Back-off pulling image "x"'
    assert report.valid is not None
    assert report.valid.message == "Waiting for the b Bundle to be unpacked"


def test_every_condition_is_there_from_the_first_write() -> None:
    status = status_of(FRESH, REPORT, NOW)
    assert conditions(status) == {
        "HasValidBundle": ("Unknown", "Pending", ""),
        "Installed": ("Unknown", "Pending", ""),
        "Healthy": ("Unknown", "Pending", ""),
        "Ready": ("Unknown", "Progressing", "Applying 1 object"),
        "Reconciling": ("True", "Progressing", "Applying 1 object"),
    }
    assert status.observed_generation == 4
    assert {condition.observed_generation for condition in status.conditions} == {4}


def test_an_aspect_that_is_not_spoken_of_keeps_what_it_said() -> None:
    before = status_of(FRESH, failure_reports.not_installed(FRESH, "why", Summary.RETRYING), NOW)
    after = status_of(replace(FRESH, status=before), REPORT, LATER)
    assert conditions(after)["Installed"] == conditions(before)["Installed"] == ("False", "InstallFailed", "why")
    assert next(one for one in after.conditions if one.type == "Installed").last_transition_time == NOW


def test_other_fields_change_with_the_report_and_stay_without() -> None:
    kinds = (InstalledKind(group="", version="v1", kind="ConfigMap"),)
    status = status_of(FRESH, replace_fields(REPORT, kinds), NOW)
    assert status.kinds == kinds
    assert status_of(replace(FRESH, status=status), REPORT, NOW).kinds == kinds


def replace_fields(report: Report, kinds: tuple[InstalledKind, ...]) -> Report:
    return Report(summary=report.summary, reason=report.reason, message=report.message, fields={"kinds": kinds})


def test_a_request_to_reconcile_is_echoed() -> None:
    asked = deployment(annotations={RECONCILE_AT_ANNOTATION: "today"})
    assert status_of(asked, REPORT, NOW).last_handled_reconcile_at == "today"
    assert status_of(FRESH, REPORT, NOW).last_handled_reconcile_at == ""


def test_a_request_that_is_still_to_be_acted_on_is_not_echoed() -> None:
    handled = status_of(deployment(annotations={RECONCILE_AT_ANNOTATION: "today"}), REPORT, NOW)
    later = deployment(annotations={RECONCILE_AT_ANNOTATION: "tomorrow"}, status=handled)
    waiting = dataclasses.replace(REPORT, handles_request=False)
    assert status_of(later, waiting, NOW).last_handled_reconcile_at == "today"


@pytest.mark.parametrize(
    ("one", "is_drift", "reason"),
    [(FRESH, False, "InstallFailed"), (INSTALLED, False, "UpgradeFailed"), (INSTALLED, True, "ReconcileFailed")],
)
def test_why_it_is_not_installed(one: BundleDeployment, reason: str, *, is_drift: bool) -> None:
    status = status_of(one, failure_reports.not_installed(one, "why", Summary.RETRYING, is_drift=is_drift), NOW)
    assert conditions(status)["Installed"] == ("False", reason, "why")
    assert conditions(status)["Healthy"] == ("False", "InstallationStatusFalse", "Installed condition is false")
    assert conditions(status)["Ready"] == ("False", reason, "why")


def failure(name: str, trouble: FailureKind) -> Failure:
    return Failure(key=ObjectKey("", "ConfigMap", "ns", name), kind=trouble, message=f"{name} failed")


@pytest.mark.parametrize(
    ("failure_kinds", "is_drift", "summary"),
    [
        ([FailureKind.CONTENT], False, Summary.STALLED),
        ([FailureKind.CONTENT, FailureKind.CONTENT], False, Summary.STALLED),
        ([FailureKind.CONTENT], True, Summary.RETRYING),
        ([FailureKind.CONTENT, FailureKind.CONFLICT], False, Summary.RETRYING),
        *(([trouble], False, Summary.RETRYING) for trouble in FailureKind if trouble is not FailureKind.CONTENT),
    ],
)
def test_only_content_that_can_never_be_applied_stalls(
    failure_kinds: list[FailureKind], summary: Summary, *, is_drift: bool
) -> None:
    assert (
        failure_reports.failed(FRESH, [failure("x", one) for one in failure_kinds], is_drift=is_drift).summary
        is summary
    )


def test_every_failed_object_is_named() -> None:
    report = failure_reports.failed(FRESH, [failure("a", FailureKind.CONTENT), failure("b", FailureKind.ACCESS)])
    assert report.message == "a failed && b failed"


def test_what_is_missing_is_said_as_upstream_says_it() -> None:
    report = failure_reports.failed(FRESH, [failure("a", FailureKind.MISSING), failure("b", FailureKind.MISSING)])
    assert report.message == "required resource not found: a failed && b failed"
    mixed = failure_reports.failed(FRESH, [failure("a", FailureKind.MISSING), failure("b", FailureKind.ACCESS)])
    assert mixed.message == "a failed && b failed"


def refusal(*failure_kinds: FailureKind) -> Refusal:
    return Refusal(message="why", failure_kinds=frozenset(failure_kinds))


@pytest.mark.parametrize(
    ("one", "refused", "summary", "reason"),
    [
        (FRESH, refusal(FailureKind.CONFLICT), Summary.RETRYING, Reason.CONFLICT),
        (FRESH, refusal(FailureKind.MISSING), Summary.RETRYING, Reason.INSTALL_FAILED),
        (FRESH, refusal(FailureKind.CONTENT), Summary.STALLED, Reason.INSTALL_FAILED),
        (FRESH, refusal(FailureKind.CONTENT, FailureKind.MISSING), Summary.RETRYING, Reason.INSTALL_FAILED),
        (INSTALLED, refusal(FailureKind.REFUSED), Summary.RETRYING, Reason.UPGRADE_FAILED),
        (INSTALLED, refusal(FailureKind.CONFLICT), Summary.RETRYING, Reason.CONFLICT),
    ],
)
def test_what_a_gate_refuses(one: BundleDeployment, refused: Refusal, summary: Summary, reason: Reason) -> None:
    report = failure_reports.refused(one, refused)
    assert (report.summary, report.reason, report.message) == (summary, reason, "why")
    assert report.installed is not None
    assert report.installed.reason == ("UpgradeFailed" if one is INSTALLED else "InstallFailed")


@pytest.mark.parametrize(
    ("error", "summary"),
    [
        (ContentError("m"), Summary.STALLED),
        (AccessError("m"), Summary.RETRYING),
        (UnavailableError("m"), Summary.RETRYING),
    ],
)
def test_content_that_cannot_be_loaded(error: RukPakError, summary: Summary) -> None:
    report = failure_reports.unloadable(error)
    assert report.summary is summary
    assert conditions(status_of(FRESH, report, NOW))["HasValidBundle"] == ("False", "BundleLoadFailed", "m")


def test_saying_the_same_again_later_changes_nothing() -> None:
    once = status_of(FRESH, failure_reports.not_installed(FRESH, "why", Summary.RETRYING), NOW)
    assert (
        status_of(replace(FRESH, status=once), failure_reports.not_installed(FRESH, "why", Summary.RETRYING), LATER)
        == once
    )


def test_a_long_text_stands_in_one_condition() -> None:
    """It was 32,000 characters in three of them: 94 KiB for each deployment, on every write and in every watch."""
    text = "\n".join(f"ConfigMap ns/some-rather-long-name-{number:04} cannot be applied" for number in range(2000))
    status = status_of(FRESH, failure_reports.not_installed(FRESH, text, Summary.RETRYING), NOW)
    lengths = {one.type: len(one.message) for one in status.conditions}
    assert lengths["Installed"] == 32_000
    assert sum(lengths.values()) < 32_000 + 2 * 300 + 100
    assert conditions(status)["Ready"][2] == text.partition("\n")[0]


@pytest.mark.parametrize(
    ("notes", "message"),
    [
        ((), "Instantiated bundle b successfully"),
        (("", ""), "Instantiated bundle b successfully"),
        (("one", "", "two"), "Instantiated bundle b successfully\none\ntwo"),
    ],
)
def test_what_else_there_is_to_know_stands_beside_installed(notes: tuple[str, ...], message: str) -> None:
    assert installed("b", *notes).message == message


READY = Report(summary=Summary.READY, reason=Reason.SUCCEEDED, message="all is well")


def test_suspending_keeps_the_verdict_and_fires_no_alert() -> None:
    before = status_of(FRESH, READY, NOW)
    after = status_of(replace(FRESH, status=before), SUSPENDED, LATER)
    text = "spec.suspend is true: nothing is applied, corrected or pruned"
    assert conditions(after)["Ready"] == ("True", "Suspended", text)
    assert next(one for one in after.conditions if one.type == "Ready").last_transition_time == NOW
    assert "Reconciling" not in conditions(after)


@pytest.mark.parametrize(
    ("provisioner", "report", "is_told"),
    [
        ("others", READY, True),
        ("others", REPORT, True),
        ("others", None, False),  # never ours
        ("ours", READY, False),
    ],
)
def test_a_class_that_nobody_serves_is_told_where_this_operator_spoke_before(
    provisioner: str, report: Report | None, *, is_told: bool
) -> None:
    one = deployment(provisioner=provisioner)
    if report is not None:
        one = replace(one, status=status_of(one, report, NOW))
    said = not_served(one, {"ours"})
    assert (said is not None) is is_told
    if said is not None:
        after = status_of(one, said, LATER)
        status, reason, message = conditions(after)["Ready"]
        assert (status, reason) == ("Unknown", "ClassNotServed")
        assert message.startswith('this operator does not serve the class "others"; nothing is applied')
        assert "Reconciling" not in conditions(after)
        assert not_served(replace(one, status=after), {"ours"}) is None, "once: another operator may serve it"

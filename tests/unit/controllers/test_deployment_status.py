"""What a deployment's status says (contract 6.11, with the corrections of the design), and the texts of failures."""

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, InstalledKind
from rukpak_py.api.conditions import Summary
from rukpak_py.api.names import RECONCILE_AT_ANNOTATION, Reason
from rukpak_py.apply.plan import Action, Change
from rukpak_py.apply.results import Failure, Trouble
from rukpak_py.controllers import bundle_status, failures
from rukpak_py.controllers.deployment_status import Report, status_of, summary_of_bundle, validity
from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.objects import GroupVersionKind, Head, ObjectKey
from tests.unit.apply.lives import config_map, desired
from tests.unit.controllers.fakes import LATER, NOW
from tests.unit.controllers.values import bundle, conditions, deployment, unpacked

FRESH = deployment(generation=4)
INSTALLED = deployment(status=BundleDeploymentStatus(active_bundle="former"))
REPORT = Report(summary=Summary.PROGRESSING, reason=Reason.PROGRESSING, message="Applying 1 object(s)")


def failed(error: RukPakError, message: str) -> Bundle:
    one = bundle()
    return replace(one, status=bundle_status.failing(one, message, error, NOW))


@pytest.mark.parametrize(
    ("one", "status", "reason", "message"),
    [
        (unpacked(), "True", "UnpackSuccessful", "Successfully unpacked the b Bundle"),
        (bundle(), "Unknown", "UnpackPending", "Waiting for the b Bundle to be unpacked"),
        (
            replace(bundle(), status=bundle_status.unpacking(bundle(), NOW)),
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


def test_every_condition_is_there_from_the_first_write() -> None:
    status = status_of(FRESH, REPORT, NOW)
    assert conditions(status) == {
        "HasValidBundle": ("Unknown", "Pending", ""),
        "Installed": ("Unknown", "Pending", ""),
        "Healthy": ("Unknown", "Pending", ""),
        "Ready": ("Unknown", "Progressing", "Applying 1 object(s)"),
        "Reconciling": ("True", "Progressing", "Applying 1 object(s)"),
    }
    assert status.observed_generation == 4
    assert {condition.observed_generation for condition in status.conditions} == {4}


def test_an_aspect_that_is_not_spoken_of_keeps_what_it_said() -> None:
    before = status_of(FRESH, failures.not_installed(FRESH, "why", Summary.RETRYING), NOW)
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


@pytest.mark.parametrize(
    ("one", "is_drift", "reason"),
    [(FRESH, False, "InstallFailed"), (INSTALLED, False, "UpgradeFailed"), (INSTALLED, True, "ReconcileFailed")],
)
def test_why_it_is_not_installed(one: BundleDeployment, reason: str, *, is_drift: bool) -> None:
    status = status_of(one, failures.not_installed(one, "why", Summary.RETRYING, is_drift=is_drift), NOW)
    assert conditions(status)["Installed"] == ("False", reason, "why")
    assert conditions(status)["Healthy"] == ("False", "InstallationStatusFalse", "Installed condition is false")
    assert conditions(status)["Ready"] == ("False", reason, "why")


def failure(name: str, trouble: Trouble) -> Failure:
    return Failure(key=ObjectKey("", "ConfigMap", "ns", name), trouble=trouble, message=f"{name} failed")


@pytest.mark.parametrize(
    ("troubles", "is_drift", "summary"),
    [
        ([Trouble.CONTENT], False, Summary.STALLED),
        ([Trouble.CONTENT, Trouble.CONTENT], False, Summary.STALLED),
        ([Trouble.CONTENT], True, Summary.RETRYING),
        ([Trouble.CONTENT, Trouble.CONFLICT], False, Summary.RETRYING),
        *(([trouble], False, Summary.RETRYING) for trouble in Trouble if trouble is not Trouble.CONTENT),
    ],
)
def test_only_content_that_can_never_be_applied_stalls(
    troubles: list[Trouble], summary: Summary, *, is_drift: bool
) -> None:
    assert failures.failed(FRESH, [failure("x", one) for one in troubles], is_drift=is_drift).summary is summary


def test_every_failed_object_is_named() -> None:
    report = failures.failed(FRESH, [failure("a", Trouble.CONTENT), failure("b", Trouble.ACCESS)])
    assert report.message == "a failed && b failed"


def test_what_is_missing_is_said_as_upstream_says_it() -> None:
    report = failures.failed(FRESH, [failure("a", Trouble.MISSING), failure("b", Trouble.MISSING)])
    assert report.message == "required resource not found: a failed && b failed"
    mixed = failures.failed(FRESH, [failure("a", Trouble.MISSING), failure("b", Trouble.ACCESS)])
    assert mixed.message == "a failed && b failed"


def test_every_object_of_a_missing_kind_is_named() -> None:
    gvk = GroupVersionKind("shop.example.org", "v1", "Basket")
    heads = [Head(gvk=gvk, namespace="ns", name=name) for name in "ab"]
    message = failures.missing_kinds(FRESH, heads).message
    assert message.startswith("required resource not found: [")
    assert message.count('no matches for kind "Basket" in version "shop.example.org/v1"') == 2
    assert 'resource mapping not found for name: "a" namespace: "ns" from ""' in message
    assert "ensure CRDs are installed first" in message


def test_every_missing_namespace_is_named_with_a_way_out() -> None:
    message = failures.missing_namespaces(FRESH, ["one", "two"]).message
    assert message.startswith('required resource not found: namespaces "one" not found, namespaces "two" not found; ')
    assert "spec.createNamespace" in message


def test_every_refused_object_is_named() -> None:
    wants = [desired(config_map(name)) for name in "ab"]
    changes = [
        Change(action=Action.REFUSE, desired=want, form=want.form, live=None, reason=f"{want.key} is taken")
        for want in wants
    ]
    report = failures.refused(FRESH, changes)
    assert report.message == "ConfigMap ns/a is taken; ConfigMap ns/b is taken"
    assert (report.summary, report.reason) == (Summary.RETRYING, Reason.CONFLICT)
    assert report.installed is not None
    assert report.installed.reason == "InstallFailed"


@pytest.mark.parametrize(
    ("error", "summary"),
    [
        (ContentError("m"), Summary.STALLED),
        (AccessError("m"), Summary.RETRYING),
        (UnavailableError("m"), Summary.RETRYING),
    ],
)
def test_content_that_cannot_be_loaded(error: RukPakError, summary: Summary) -> None:
    report = failures.unloadable(error)
    assert report.summary is summary
    assert conditions(status_of(FRESH, report, NOW))["HasValidBundle"] == ("False", "BundleLoadFailed", "m")


def test_saying_the_same_again_later_changes_nothing() -> None:
    once = status_of(FRESH, failures.not_installed(FRESH, "why", Summary.RETRYING), NOW)
    assert status_of(replace(FRESH, status=once), failures.not_installed(FRESH, "why", Summary.RETRYING), LATER) == once

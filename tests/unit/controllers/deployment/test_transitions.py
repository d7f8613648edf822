"""Which Events a change of a deployment's status tells: every transition once, and nothing about work in progress."""

from dataclasses import dataclass
from dataclasses import replace as replace_report

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import (
    BundleDeployment,
    BundleDeploymentStatus,
    Installation,
    RecordedOptions,
    RecordedValues,
)
from rukpak_py.api.conditions import Summary, find_condition
from rukpak_py.api.names import ConditionStatus, Reason
from rukpak_py.apply.preflight import Refusal
from rukpak_py.apply.results import Failure, FailureKind
from rukpak_py.controllers.deployment import failure_reports, messages
from rukpak_py.controllers.deployment.healthy_condition import UnhealthyObject, judge_health
from rukpak_py.controllers.deployment.status import (
    SUSPENDED,
    ConditionValue,
    Report,
    installed,
    not_served,
    status_of,
    summary_of_bundle,
    validity,
    with_not_corrected,
)
from rukpak_py.controllers.deployment.transitions import transitions
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.objects import ObjectKey
from tests.unit.controllers.fakes import NOW
from tests.unit.controllers.values import DIGEST, OTHER_DIGEST, bundle, deployment, unpacked
from tests.unit.controllers.values import failing as failing_bundle

MINUTES_LATER = "2026-01-01T00:02:00Z"
FRESH = BundleDeploymentStatus()
PENDING = UnhealthyObject(line="a: object InProgress: Ready: 0/1")
FAILED = UnhealthyObject(line="b: object Failed: Progress deadline exceeded", has_failed=True)


def after(before: BundleDeploymentStatus, report: Report, now: str = NOW) -> BundleDeploymentStatus:
    return status_of(deployment(status=before), report, now)


def applied(
    *unhealthy: UnhealthyObject, before: BundleDeploymentStatus = FRESH, name: str = "b", now: str = NOW
) -> Report:
    verdict = judge_health(before, bundle=name, unhealthy=unhealthy, total=3, now=now)
    return Report(
        summary=verdict.summary,
        reason=verdict.reason,
        message=verdict.message,
        valid=validity(unpacked(name)),
        installed=installed(name),
        healthy=verdict.healthy,
        fields={"active_bundle": name, "digest": DIGEST},
    )


def told(before: BundleDeploymentStatus, report: Report, now: str = NOW) -> list[tuple[str, str]]:
    return [(note.type.value, note.reason) for note in transitions(before, after(before, report, now))]


def failed(message: str, *, active: str = "", is_drift: bool = False) -> Report:
    one = deployment(status=BundleDeploymentStatus(active_bundle=active))
    key = ObjectKey("", "ConfigMap", "ns", "a")
    failure = Failure(key=key, kind=FailureKind.REFUSED, message=message)
    return failure_reports.failed(one, [failure], is_drift=is_drift)


def waiting(message: str = "Applying 3 objects") -> Report:
    return Report(summary=Summary.PROGRESSING, reason=Reason.PROGRESSING, message=message)


def content(message: str) -> Report:
    one = failing_bundle(bundle(), message, ContentError(message))
    return summary_of_bundle(one, validity(one))


BUDGET = Report(
    summary=Summary.RETRYING,
    reason=Reason.PRUNE_BUDGET_EXCEEDED,
    message="nothing was pruned",
    installed=installed("b"),
)
UNCREATED = Report(
    summary=Summary.RETRYING,
    reason=Reason.CONFLICT,
    message="taken",
    valid=ConditionValue(status=ConditionStatus.UNKNOWN, reason=Reason.RECONCILE_FAILED, message="taken"),
)
READY = after(FRESH, applied())
ROLLING_OUT = after(FRESH, applied(PENDING))
GAVE_UP = after(ROLLING_OUT, applied(FAILED, before=ROLLING_OUT))
SLOW = after(ROLLING_OUT, applied(PENDING, before=ROLLING_OUT, now=MINUTES_LATER), MINUTES_LATER)
REFUSED = after(FRESH, failed("no"))


@pytest.mark.parametrize(
    ("before", "report", "expected"),
    [
        # installing
        (FRESH, waiting(), []),
        (after(FRESH, waiting()), applied(), [("Normal", "Installed")]),
        (after(FRESH, waiting()), applied(PENDING), [("Normal", "Installed")]),
        (READY, applied(name="c"), [("Normal", "Upgraded")]),
        (READY, applied(PENDING, name="c"), [("Normal", "Upgraded")]),
        (READY, applied(), []),
        # health
        (ROLLING_OUT, applied(), []),
        (READY, applied(PENDING, before=READY), []),
        (READY, applied(FAILED, before=READY), [("Warning", "Unhealthy")]),
        (FRESH, applied(FAILED), [("Normal", "Installed"), ("Warning", "Unhealthy")]),
        (ROLLING_OUT, applied(FAILED, before=ROLLING_OUT), [("Warning", "Unhealthy")]),
        (ROLLING_OUT, applied(PENDING, before=ROLLING_OUT, now=MINUTES_LATER), [("Warning", "Unhealthy")]),
        (SLOW, applied(PENDING, PENDING, before=SLOW, now=MINUTES_LATER), []),
        (SLOW, applied(FAILED, before=SLOW), [("Warning", "Unhealthy")]),
        (GAVE_UP, applied(FAILED, PENDING, before=GAVE_UP), []),
        (GAVE_UP, applied(PENDING, before=GAVE_UP), []),
        (GAVE_UP, applied(before=GAVE_UP), [("Normal", "Healthy")]),
        (SLOW, applied(before=SLOW), [("Normal", "Healthy")]),
        (after(GAVE_UP, applied(PENDING, before=GAVE_UP)), applied(), [("Normal", "Healthy")]),
        (GAVE_UP, applied(name="c"), [("Normal", "Upgraded")]),
        # failures
        (FRESH, failed("no"), [("Warning", "InstallFailed")]),
        (REFUSED, failed("no"), []),
        (REFUSED, failed("another reason"), [("Warning", "InstallFailed")]),
        (REFUSED, applied(), [("Normal", "Installed")]),
        (READY, failed("no", active="b"), [("Warning", "UpgradeFailed")]),
        (READY, failed("no", active="b", is_drift=True), [("Warning", "ReconcileFailed")]),
        (after(READY, failed("no", active="b", is_drift=True)), applied(), [("Normal", "Succeeded")]),
        (FRESH, content("empty"), [("Warning", "UnpackFailed")]),
        (READY, content("empty"), [("Warning", "UnpackFailed")]),
        (FRESH, failure_reports.unloadable(ContentError("odd")), [("Warning", "BundleLoadFailed")]),
        (FRESH, UNCREATED, [("Warning", "ReconcileFailed")]),
        (READY, waiting("Re-fetching bundle content"), []),
        # pruning
        (READY, BUDGET, [("Warning", "PruneBudgetExceeded")]),
        (after(READY, BUDGET), BUDGET, []),
        (after(READY, BUDGET), applied(), [("Normal", "Succeeded")]),
        # paused
        (READY, SUSPENDED, [("Normal", "Suspended")]),
        (after(READY, SUSPENDED), SUSPENDED, []),
        (after(READY, SUSPENDED), applied(), [("Normal", "Resumed")]),
        (after(REFUSED, SUSPENDED), failed("no"), [("Normal", "Resumed")]),
        (GAVE_UP, SUSPENDED, [("Normal", "Suspended")]),
        (after(GAVE_UP, SUSPENDED), applied(), [("Normal", "Resumed")]),
    ],
)
def test_a_transition_is_told_once(
    before: BundleDeploymentStatus, report: Report, expected: list[tuple[str, str]]
) -> None:
    assert told(before, report) == expected


def test_an_ordinary_roll_out_warns_of_nothing() -> None:
    """It used to make seven Warnings, one for each change of its replicas."""
    status, seen = after(FRESH, waiting()), []
    for number in range(7):
        line = UnhealthyObject(line=f"a: object InProgress: Ready: {number}/7")
        report = applied(line, before=status)
        seen += told(status, report)
        status = after(status, report)
    seen += told(status, applied(before=status))
    assert seen == [("Normal", "Installed")]


def elsewhere(one: BundleDeployment) -> BundleDeployment:
    return replace(one, spec=replace(one.spec, provisioner_class_name="others"))


def test_a_class_that_nobody_here_serves_is_told_and_so_is_its_return() -> None:
    report = not_served(elsewhere(deployment(status=READY)), {"ours"})
    assert report is not None
    assert told(READY, report) == [("Warning", "ClassNotServed")]
    left = after(READY, report)
    assert not_served(elsewhere(deployment(status=left)), {"ours"}) is None, "the status is others' from now on"
    assert told(left, applied()) == [("Normal", "Resumed")]


@dataclass(frozen=True)
class Kept:
    kind: str
    namespace: str
    name: str
    reason: str = "HoldsObjects"


@dataclass(frozen=True)
class WithKept:
    """A status of which only these fields are asked for."""

    kept: tuple[Kept, ...] = ()
    conditions: tuple[()] = ()
    active_bundle: str = ""
    digest: str = ""


CLAIM, NAMESPACE = Kept("PersistentVolumeClaim", "ns", "data"), Kept("Namespace", "", "ns")


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ((), (), []),
        ((), (CLAIM,), [messages.kept_text([CLAIM])]),
        ((CLAIM,), (CLAIM,), []),
        ((CLAIM,), (CLAIM, NAMESPACE), [messages.kept_text([NAMESPACE])]),
        ((CLAIM,), (), []),
    ],
)
def test_what_is_kept_is_told_when_it_is_new(
    before: tuple[Kept, ...], now: tuple[Kept, ...], expected: list[str]
) -> None:
    notes = transitions(WithKept(before), WithKept(now))  # type: ignore[arg-type]  # all of a status that it reads
    assert [(note.reason, note.message) for note in notes] == [("Kept", text) for text in expected]


@pytest.mark.parametrize(
    ("report", "message"),
    [
        (failed("x" * 1000 + "\nmore"), "x" * 1000),
        (applied(FAILED, PENDING), f"2 of 3 objects are not healthy: {FAILED.line}"),
        (content("y" * 500), "Failed to unpack the b Bundle: " + "y" * 500),
    ],
)
def test_an_event_has_the_whole_first_line_of_the_condition(report: Report, message: str) -> None:
    """`Ready` has only its beginning."""
    assert transitions(FRESH, after(FRESH, report))[-1].message == message


@pytest.mark.parametrize(("digest", "expected"), [(DIGEST, []), (OTHER_DIGEST, [("Normal", "Upgraded")])])
def test_a_bundle_that_was_made_again_of_something_else_is_an_upgrade(
    digest: str, expected: list[tuple[str, str]]
) -> None:
    report = applied()
    assert told(READY, replace_report(report, fields={**(report.fields or {}), "digest": digest})) == expected


def test_a_line_that_is_noted_elsewhere_is_told_in_full() -> None:
    text = messages.over_budget([ObjectKey("", "ConfigMap", "ns", "n" * 50 + str(number)) for number in range(9)], 3)
    report = Report(
        summary=Summary.RETRYING,
        reason=Reason.PRUNE_BUDGET_EXCEEDED,
        message=text,
        installed=installed("b", text),
    )
    (note,) = transitions(READY, after(READY, report))
    assert (note.reason, note.message) == ("PruneBudgetExceeded", text)


def test_a_refusal_whose_full_text_takes_several_lines_is_one_event_in_one_line() -> None:
    refusal = Refusal(
        message="required resource not found: [a\nb]",
        brief="Widget default/w: the cluster has no kind Widget",
        failure_kinds=frozenset({FailureKind.MISSING}),
    )
    (note,) = transitions(FRESH, after(FRESH, failure_reports.refused(deployment(), refusal)))
    assert (note.reason, note.message) == ("InstallFailed", "Widget default/w: the cluster has no kind Widget")


UNMATCHED = "spec.overrides[0] (ConfigMap ns/q) matches no object of the bundle and no kept object; check kind"


def test_an_override_that_is_about_nothing_is_told_once() -> None:
    noted = replace_report(applied(), installed=installed("b", UNMATCHED))
    first = after(READY, noted)
    (note,) = transitions(READY, first)
    assert (note.type.value, note.reason, note.message) == ("Warning", "OverrideUnmatched", UNMATCHED)
    assert find_condition(first.conditions, "Ready") == find_condition(READY.conditions, "Ready")
    assert told(first, noted) == []
    assert told(first, applied()) == []


def test_drift_that_cannot_be_corrected_is_told_beside_the_failure_and_does_not_repeat_it() -> None:
    refused = failed("no", active="b")
    first = after(READY, refused)
    noted = with_not_corrected(refused, f'Bundle "b" does not exist{messages.NOT_CORRECTED}do something')
    assert told(first, noted) == [("Warning", "ReconcileFailed")]
    assert told(after(first, noted), refused) == []


def test_trouble_that_ends_in_an_upgrade_is_told_as_that_alone() -> None:
    troubled = after(READY, failure_reports.unloadable(UnavailableError("away")))
    assert told(troubled, applied(name="c")) == [("Normal", "Upgraded")]


VALUES = RecordedValues(kind="Secret", name="s", key="k", digest="1")


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (RecordedOptions(watch_namespaces=("a",)), [("Normal", "Upgraded")]),
        (RecordedOptions(values_from=(replace(VALUES, digest="2"),)), [("Normal", "Upgraded")]),
        (RecordedOptions(values_from=(VALUES,)), []),
        (RecordedOptions(values_from=(replace(VALUES, current_digest="3"),)), []),
        (None, []),
    ],
    ids=["other options", "other values", "the same", "under another key", "an entry of the first release"],
)
def test_other_options_are_an_upgrade(before: RecordedOptions | None, expected: list[tuple[str, str]]) -> None:
    entry = Installation(bundle="b", digest="d", time="t", options=RecordedOptions(values_from=(VALUES,)))
    now = replace(READY, history=(entry,))
    former = replace(READY, history=(replace(entry, options=before),))
    assert [(note.type.value, note.reason) for note in transitions(former, now)] == expected

"""Health as a deployment's conditions say it: every object, in upstream's words, and whether it lasts."""

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus
from rukpak_py.api.bundle_deployment import Installation as Installed
from rukpak_py.api.conditions import Summary, set_condition, summarise
from rukpak_py.api.names import ConditionStatus, ConditionType, Reason
from rukpak_py.controllers.deployment.healthy_condition import LASTING_SECONDS, UnhealthyObject, judge_health

START, SOON, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:50Z", "2026-01-01T00:02:00Z"
A = UnhealthyObject(line="(/v1, Kind=Pod)(ns/a): object InProgress: Pod is in the Pending phase")
B = UnhealthyObject(line="(/v1, Kind=Pod)(ns/b): object Failed: Pod could not be scheduled", has_failed=True)


def status(
    reason: Reason = Reason.UNHEALTHY,
    *,
    since: str = START,
    bundle: str = "b",
    installed: str = START,
    ready: tuple[Summary, Reason] = (Summary.PROGRESSING, Reason.UNHEALTHY),
) -> BundleDeploymentStatus:
    value = ConditionStatus.TRUE if reason is Reason.HEALTHY else ConditionStatus.FALSE
    conditions = set_condition(
        (), type=ConditionType.HEALTHY, status=value, reason=reason, message="m", generation=1, now=since
    )
    summary, why = ready
    conditions = summarise(conditions, summary, reason=why, message="m", generation=1, now=since)
    history = (Installed(bundle=bundle, digest="d", time=installed),)
    return BundleDeploymentStatus(conditions=conditions, active_bundle=bundle, history=history)


FAILED = (Summary.RETRYING, Reason.UNHEALTHY)
SLOW = (Summary.PROGRESSING, Reason.STILL_UNHEALTHY)
ALL_WELL = (Summary.READY, Reason.SUCCEEDED)


@pytest.mark.parametrize(
    ("before", "now", "summary", "reason", "look_again"),
    [
        (BundleDeploymentStatus(), START, Summary.PROGRESSING, Reason.UNHEALTHY, 120),
        (status(), SOON, Summary.PROGRESSING, Reason.UNHEALTHY, 70),
        (status(), LATER, Summary.PROGRESSING, Reason.STILL_UNHEALTHY, None),
        (status(ready=SLOW), LATER, Summary.PROGRESSING, Reason.STILL_UNHEALTHY, None),
        # it was healthy until now
        (status(Reason.HEALTHY, ready=ALL_WELL), LATER, Summary.PROGRESSING, Reason.UNHEALTHY, 120),
        # other content: what went before does not count
        (status(bundle="former"), LATER, Summary.PROGRESSING, Reason.UNHEALTHY, 120),
        (status(bundle="former", ready=SLOW), LATER, Summary.PROGRESSING, Reason.UNHEALTHY, 120),
        (status(installed=SOON), LATER, Summary.PROGRESSING, Reason.UNHEALTHY, 50),
        (status(Reason.INSTALLATION_STATUS_FALSE), LATER, Summary.PROGRESSING, Reason.UNHEALTHY, 120),
        # a failure that is in progress again
        (status(since=LATER, ready=FAILED), LATER, Summary.PROGRESSING, Reason.STILL_UNHEALTHY, None),
        # clocks that disagree, and a time that no calendar has
        (status(since=LATER), START, Summary.PROGRESSING, Reason.UNHEALTHY, 240),
        (status(since="2026-06-30T23:59:60Z"), "2026-06-30T23:59:59Z", Summary.PROGRESSING, Reason.UNHEALTHY, None),
    ],
)
def test_what_is_in_progress_for_two_minutes_is_called_that(
    before: BundleDeploymentStatus, now: str, summary: Summary, reason: Reason, look_again: float | None
) -> None:
    verdict = judge_health(before, bundle="b", unhealthy=[A], total=1, now=now)
    assert (verdict.summary, verdict.reason) == (summary, reason)
    if look_again is not None or reason is Reason.STILL_UNHEALTHY:
        assert verdict.look_again == look_again
    assert LASTING_SECONDS == 120


@pytest.mark.parametrize("before", [BundleDeploymentStatus(), status(), status(ready=SLOW), status(ready=FAILED)])
def test_a_failure_is_one_at_once_and_never_stalls(before: BundleDeploymentStatus) -> None:
    verdict = judge_health(before, bundle="b", unhealthy=[A, B], total=2, now=START)
    assert (verdict.summary, verdict.reason, verdict.look_again) == (Summary.RETRYING, Reason.UNHEALTHY, None)


def test_all_is_well() -> None:
    verdict = judge_health(status(), bundle="b", unhealthy=[], total=2, now=START, notes=["not said"])
    assert (verdict.summary, verdict.reason) == (Summary.READY, Reason.SUCCEEDED)
    assert verdict.message == "Instantiated bundle b successfully"
    assert (verdict.healthy.status, verdict.healthy.message) == (ConditionStatus.TRUE, "BundleDeployment is healthy")


@pytest.mark.parametrize(
    ("unhealthy", "notes", "text"),
    [
        ([A], [], A.line),
        ([A], ["", "a note"], f"{A.line}\na note"),
        ([A, A], [], f"2 of 12 objects are not healthy: {A.line}\n{A.line}\n{A.line}"),
        ([A, B], ["a note"], f"2 of 12 objects are not healthy: {B.line}\n{A.line}\n{B.line}\na note"),
    ],
)
def test_every_object_that_is_not_healthy_is_named(
    unhealthy: list[UnhealthyObject], notes: list[str], text: str
) -> None:
    verdict = judge_health(BundleDeploymentStatus(), bundle="b", unhealthy=unhealthy, total=12, now=START, notes=notes)
    assert (verdict.healthy.message, verdict.message) == (text, text)
    assert verdict.healthy.reason is Reason.UNHEALTHY


def test_a_status_without_history_counts_from_its_condition() -> None:
    before = replace(status(), history=())
    assert judge_health(before, bundle="b", unhealthy=[A], total=1, now=SOON).look_again == 70

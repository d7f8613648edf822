"""When an upgrade is undone, and for which reason."""

from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus, Installation
from rukpak_py.api.install_options import InstallOptions, recorded
from rukpak_py.api.upgrades import BegunUpgrade, FailureAction, OnFailure, RolledBack, Upgrades
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.remediation import (
    entry_of,
    goes_back,
    is_healthy,
    is_undone,
    refusal_of,
    rollback_of,
    seconds_left,
)
from rukpak_py.controllers.deployment.upgrade_approval import upgrade_change
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclusion import Clock
from rukpak_py.controllers.result.progress import Fact, Progress, Reached, Words
from tests.unit.controllers.deployment.parts import attempt
from tests.unit.controllers.values import DIGEST, OTHER_DIGEST, deployment

START = 1_767_225_600.0  # 2026-01-01
STARTED = "2026-01-01T00:00:00Z"
UNDO = OnFailure(after="10m", action=FailureAction.ROLLBACK)
BEGUN = BegunUpgrade(revision=1, content=DIGEST, bundle="b", started_at=STARTED)
WAITS = Fact(cause=Cause.UNHEALTHY, detail=Words(words="Deployment web: 0/1"))
FAILS = Fact(cause=Cause.REFUSED, detail=Words(words="the API server refused it"))


def one(begun: BegunUpgrade | None = BEGUN, on_failure: OnFailure | None = UNDO, **status: Any) -> Attempt:
    of = deployment(status=BundleDeploymentStatus(upgrade=begun, **status), upgrades=Upgrades(on_failure=on_failure))
    return attempt(of=of)


def after(seconds: float) -> Clock:
    return Clock(loop=0.0, wall=START + seconds)


def progress(*facts: Fact, reached: Reached = Reached.APPLIED) -> Progress:
    return Progress(facts=facts, reached=reached)


@pytest.mark.parametrize(
    ("found", "healthy"),
    [
        (progress(), True),
        (progress(reached=Reached.FINISHED), True),
        (progress(Fact(cause=Cause.PRUNE_BUDGET)), True),
        (progress(WAITS), False),
        (progress(Fact(cause=Cause.UNHEALTHY_FAILED)), False),
        (progress(reached=Reached.PARTLY), False),
        (progress(FAILS, reached=Reached.NOTHING), False),
    ],
)
def test_an_upgrade_is_healthy_once_all_of_it_is(found: Progress, *, healthy: bool) -> None:
    assert is_healthy(found) is healthy


@pytest.mark.parametrize(
    ("of", "seconds", "left"),
    [
        (one(), 0, 600.0),
        (one(), 599, 1.0),
        (one(), 600, 0.0),
        (one(), 6000, 0.0),
        (one(on_failure=OnFailure(after="1h30m", action=FailureAction.ROLLBACK)), 600, 4800.0),
        (one(on_failure=OnFailure()), 6000, None),
        (one(on_failure=None), 6000, None),
        (one(None), 6000, None),
        (one(replace(BEGUN, content=OTHER_DIGEST)), 6000, None),
        (one(replace(BEGUN, options="sha256:other")), 6000, None),
        (one(replace(BEGUN, is_rollback=True)), 6000, None),
        (one(replace(BEGUN, kept_because="refused")), 6000, None),
        (one(replace(BEGUN, revision=0)), 6000, None),
        (one(replace(BEGUN, started_at="")), 6000, None),
        (one(replace(BEGUN, started_at="nonsense")), 6000, 600.0),
        (one(on_failure=OnFailure(after="soon", action=FailureAction.ROLLBACK)), 6000, None),
    ],
)
@pytest.mark.parametrize("found", [progress(WAITS), progress(FAILS, reached=Reached.NOTHING)])
def test_time_counts_from_the_record_of_the_upgrade(
    of: Attempt, seconds: float, left: float | None, found: Progress
) -> None:
    assert seconds_left(of, found, after(seconds), seen_for=seconds) == left


@pytest.mark.parametrize(
    ("limit", "seconds", "seen_for", "found", "left"),
    [
        ("10m", 6000, 0, WAITS, 60.0),
        ("10m", 6000, 59, WAITS, 1.0),
        ("10m", 6000, 60, WAITS, 0.0),
        ("10m", 560, 0, WAITS, 60.0),
        ("10m", 500, 0, WAITS, 100.0),
        ("3s", 6000, 0, WAITS, 3.0),
        ("10m", 6000, 0, FAILS, 0.0),
        ("10m", 6000, 0, Fact(cause=Cause.API_UNAVAILABLE, detail=Words(words="x")), 60.0),
        ("10m", 6000, 0, Fact(cause=Cause.UNHEALTHY_FAILED, detail=Words(words="x")), 0.0),
    ],
)
def test_upgrade_that_was_not_looked_at_has_a_short_while_unless_it_has_failed(
    limit: str, seconds: float, seen_for: float, found: Fact, left: float
) -> None:
    of = one(on_failure=OnFailure(after=limit, action=FailureAction.ROLLBACK))
    assert seconds_left(of, progress(found, reached=Reached.PARTLY), after(seconds), seen_for=seen_for) == left


def test_healthy_upgrade_is_never_undone() -> None:
    assert seconds_left(one(), progress(), after(6000), seen_for=6000) is None


def test_the_worst_that_is_told_is_the_reason() -> None:
    record = rollback_of(one(), BEGUN, progress(WAITS, FAILS), after(600))
    assert record == RolledBack(
        revision=1, bundle="b", content=DIGEST, reason="the API server refused it", time="2026-01-01T00:10:00Z"
    )
    assert rollback_of(one(), BEGUN, progress(), after(600)).reason == "it did not become healthy"


RECORD = RolledBack(revision=1, bundle="b", content=DIGEST, time=STARTED)


@pytest.mark.parametrize(
    ("record", "stays"),
    [
        (None, False),
        (RECORD, True),
        (replace(RECORD, content=OTHER_DIGEST), False),
        (replace(RECORD, options="sha256:other"), False),
    ],
)
def test_failed_content_is_not_tried_again_before_it_or_its_options_change(
    record: RolledBack | None, *, stays: bool
) -> None:
    of = one(None, rollback=record)
    assert is_undone(of) == (record if stays else None)
    change = upgrade_change(of, None, progress(WAITS)).rollback
    assert change is (UNSET if stays or record is None else None)


def installation(revision: int, outcome: str = "Healthy", digest: str = OTHER_DIGEST, **options: Any) -> Installation:
    given = recorded(InstallOptions(**options))
    return Installation(revision=revision, bundle="a", digest=digest, time=STARTED, outcome=outcome, options=given)


@pytest.mark.parametrize(
    ("outcomes", "revision"),
    [
        (["Healthy", "Healthy"], 2),
        (["Installed", "Healthy"], 1),
        (["Failed", "RolledBack", "Healthy"], 1),
        (["Installed", "Failed"], 2),
    ],
)
def test_the_last_healthy_revision_is_installed_again(outcomes: list[str], revision: int) -> None:
    count = len(outcomes)
    history = tuple(installation(count - at, outcome) for at, outcome in enumerate(outcomes))
    begun = replace(BEGUN, revision=count)
    assert rollback_of(one(begun, history=history), begun, progress(WAITS), after(600)).revision == revision


@pytest.mark.parametrize(
    ("history", "back"),
    [
        ((installation(1),), False),
        ((), False),
        ((installation(2), installation(1, digest=DIGEST)), True),
        ((installation(2), installation(1, "Installed", digest=DIGEST)), True),
        ((installation(2), installation(1, "", digest=DIGEST)), True),
        ((installation(3), installation(2, "RolledBack", digest=DIGEST), installation(1)), False),
        ((installation(2), installation(1, "Failed", digest=DIGEST)), False),
        ((installation(3), installation(2, "Failed", digest=DIGEST), installation(1, digest=DIGEST)), True),
        ((installation(2), installation(1, digest=DIGEST, watch_namespaces=("a",))), False),
        ((installation(2, digest=DIGEST, config={"a": 1}), installation(1, digest=DIGEST)), True),
        ((installation(2, digest=DIGEST), installation(1, digest=DIGEST)), False),
    ],
)
def test_content_and_options_of_a_former_revision_go_back(history: tuple[Installation, ...], *, back: bool) -> None:
    assert goes_back(one(None, history=history)) is back


@pytest.mark.parametrize("cause", [Cause.API_UNAVAILABLE, Cause.KINDS_HELD_BACK, Cause.UNAVAILABLE])
def test_servers_that_are_away_refuse_no_rollback(cause: Cause) -> None:
    assert refusal_of(progress(Fact(cause=cause, detail=Words(words="x")), reached=Reached.NOTHING)) == ""


def test_only_failures_refuse_a_rollback() -> None:
    assert refusal_of(progress(Fact(cause=Cause.RENDERING), reached=Reached.NOTHING)) == ""
    assert refusal_of(progress(FAILS, reached=Reached.NOTHING)) == "the API server refused it"


def lost(entry: Installation) -> Installation:
    return replace(entry, template=None)


def recorded_at(revision: int, **content: Any) -> Installation:
    return replace(installation(revision, **content), template=deployment().spec.template)


@pytest.mark.parametrize(
    ("history", "revision"),
    [
        ((recorded_at(1),), 1),
        ((recorded_at(2, digest=DIGEST), recorded_at(1)), 1),
        ((recorded_at(2), recorded_at(1)), 1),
        ((recorded_at(6), recorded_at(5, digest=DIGEST), recorded_at(2)), 6),
        ((recorded_at(2), lost(recorded_at(1))), 2),
        ((recorded_at(2, digest=DIGEST), lost(recorded_at(1))), None),
        ((recorded_at(2, install_namespace="other"), lost(recorded_at(1))), None),
        ((lost(recorded_at(1)),), None),
        ((lost(recorded_at(6)), recorded_at(5)), None),
        ((), None),
    ],
)
def test_entry_that_a_rollback_made_takes_the_place_of_one_that_is_lost(
    history: tuple[Installation, ...], revision: int | None
) -> None:
    found = entry_of(deployment(status=BundleDeploymentStatus(history=history)), RECORD)
    assert (found.revision if found is not None else None) == revision

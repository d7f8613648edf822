"""A failed upgrade and the revision before it, over several looks: which content is asked for, and what is told."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import HISTORY, BundleDeployment
from rukpak_py.api.deployment_spec import Prune
from rukpak_py.api.install_options import options_of, recorded
from rukpak_py.api.names import BUNDLE_KIND
from rukpak_py.api.upgrades import BegunUpgrade, FailureAction, OnFailure, RolledBack, Upgrades
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.state_parts import Passed
from rukpak_py.controllers.queue import Turn
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Progress, Reached
from rukpak_py.controllers.writes import WRITE_INTERVAL_SECONDS
from rukpak_py.kube.errors import ServerUnavailableError
from tests.unit.controllers.deployment.test_reconcile import (
    ACTIVE,
    FORMER,
    KEPT,
    WANTED,
    Bench,
    installed,
    installed_before,
    refused,
    unpacked,
    upgrading,
)
from tests.unit.controllers.deployment.test_reconcile import bench as bench  # noqa: PLC0414 - a fixture
from tests.unit.controllers.fakes import refusal
from tests.unit.controllers.result.concluding import fact, progress
from tests.unit.controllers.values import DIGEST, OTHER_DIGEST, STARTED

UNDO = Upgrades(on_failure=OnFailure(after="1m", action=FailureAction.ROLLBACK))
LOOK = Turn(is_attempt=False)


def begun(bench: Bench, **upgrade: object) -> BundleDeployment:
    """An upgrade of the content of FORMER has begun, at the time of the bench."""
    one = upgrading(upgrades=UNDO)
    record = BegunUpgrade(
        revision=1,
        content=DIGEST,
        options=options_of(one.spec).digest,
        bundle=WANTED,
        started_at=STARTED,
        **upgrade,  # type: ignore[arg-type]
    )
    history = tuple(replace(entry, template=FORMER.spec.template) for entry in one.status.history)
    one = replace(one, status=replace(one.status, upgrade=record, history=history))
    bench.put_bundle(unpacked(FORMER, digest=OTHER_DIGEST))
    bench.put(one)
    bench.put_bundle(unpacked(one))
    return one


async def test_a_failure_for_good_is_looked_at_again_in_time(bench: Bench) -> None:
    begun(bench)
    bench.content.results[WANTED] = refused(cause=Cause.HOOK_FAILED)
    due = pytest.approx(bench.clock.now + 60.0, abs=5.0)  # by the loop, near which the bench stands still
    assert (await bench.reconcile()).report_at == due
    bench.clock.now += WRITE_INTERVAL_SECONDS
    bench.content.results[WANTED] = refused(cause=Cause.HOOK_FAILED) + progress(fact(Cause.NOT_DUE))
    assert (await bench.reconcile(LOOK)).report_at == due
    assert KEPT not in bench.content.asked


def begins_in_this_look(bench: Bench, result: Callable[[Attempt], Progress], former: BegunUpgrade | None) -> None:
    """Another upgrade was recorded before, if any; that of the wanted content is recorded in the next look."""
    one = begun(bench)
    stored = bench.put(replace(one, status=replace(one.status, upgrade=former)))

    def begins(attempt: Attempt) -> Progress:
        if attempt.is_wanted and bench.status.upgrade == former:
            bench.put(replace(stored, status=replace(stored.status, upgrade=one.status.upgrade)))
        return result(attempt) if attempt.is_wanted else installed(attempt)

    bench.content.result_of = begins


OTHER = BegunUpgrade(revision=1, content="sha256:other", bundle="other", started_at=STARTED)


@pytest.mark.parametrize("former", [None, OTHER])
async def test_upgrade_that_began_in_this_very_look_is_looked_at_in_time(
    bench: Bench, former: BegunUpgrade | None
) -> None:
    begins_in_this_look(bench, lambda _: refused(cause=Cause.HOOK_FAILED), former)
    assert (await bench.reconcile()).report_at is not None
    assert bench.status.upgrade is not None
    assert bench.status.upgrade.content == DIGEST
    bench.clock.now += 60.0
    await bench.reconcile()
    assert bench.status.rollback is not None


async def test_upgrade_that_is_healthy_in_the_look_in_which_it_began_is_over(bench: Bench) -> None:
    begins_in_this_look(bench, installed, None)
    await bench.reconcile()
    assert (bench.status.active_bundle, bench.status.upgrade) == (WANTED, None)


async def test_spec_that_changes_during_a_look_decides_in_the_next_one(bench: Bench) -> None:
    """Neither it nor the account that it names was judged."""
    one = begun(bench)
    bench.clock.now += 60.0

    def changes(attempt: Attempt) -> Progress:
        if attempt.is_wanted:
            bench.put(replace(one, spec=replace(one.spec, service_account_name="other", prune=Prune(enabled=False))))
        return refused(cause=Cause.HOOK_FAILED)

    bench.content.result_of = changes
    await bench.reconcile()
    wanted, back = bench.content.attempts
    assert back.deployment.spec == wanted.deployment.spec == one.spec


async def test_in_time_the_former_revision_is_asked_for_and_recorded_first(bench: Bench) -> None:
    begun(bench)
    bench.content.results[WANTED] = refused(cause=Cause.HOOK_FAILED)
    bench.clock.now += 60.0
    await bench.reconcile()
    assert bench.content.asked == [("reconcile", WANTED, "after"), KEPT]
    record = bench.status.rollback
    assert record is not None
    assert (record.revision, record.content, record.bundle) == (1, DIGEST, WANTED)
    assert bench.status.upgrade is None
    assert bench.conditions["Ready"][:2] == ("False", "RolledBack")
    assert bench.conditions["Stalled"][0] == "True"
    assert ("Warning", "shop", "RolledBack") in bench.events.told

    bench.content.asked.clear()
    bench.clock.now += WRITE_INTERVAL_SECONDS
    await bench.reconcile()
    assert bench.content.asked == [KEPT], "what has failed is not tried again"
    assert {ACTIVE, WANTED} <= bench.names


async def test_refused_rollback_keeps_the_upgrade_and_is_not_tried_again(bench: Bench) -> None:
    begun(bench)
    bench.content.results[WANTED] = refused(cause=Cause.UNAVAILABLE)
    bench.content.results["reconcile"] = refused(cause=Cause.PERMISSIONS_MISSING)
    await bench.reconcile()
    bench.clock.now += 60.0
    await bench.reconcile()
    assert bench.status.rollback is None
    assert bench.status.upgrade is not None
    assert bench.status.upgrade.kept_because == "taken"
    assert ("Warning", "shop", "RollbackRefused") in bench.events.told
    bench.content.asked.clear()
    bench.clock.now += WRITE_INTERVAL_SECONDS
    await bench.reconcile()
    assert KEPT not in bench.content.asked


async def test_rollback_that_waits_has_not_begun_and_is_looked_at_again(bench: Bench) -> None:
    begun(bench)
    bench.content.results[WANTED] = refused(cause=Cause.HOOK_FAILED)
    bench.content.results["reconcile"] = progress(fact(Cause.RENDERING))
    bench.clock.now += 60.0
    schedule = await bench.reconcile()
    assert schedule.report_at is not None
    assert (bench.status.rollback, bench.status.upgrade is None) == (None, False)


async def test_healthy_upgrade_is_over_whenever_it_is_seen(bench: Bench) -> None:
    """After a long absence of the operator, too, and where objects wait to be pruned."""
    begun(bench)
    bench.content.results[WANTED] = Progress(facts=(fact(Cause.PRUNE_BUDGET),), reached=Reached.APPLIED)
    bench.clock.now += 6000.0
    await bench.reconcile()
    assert (bench.status.rollback, bench.status.upgrade) == (None, None)


async def test_failed_content_whose_bundle_is_made_again_is_not_installed_meanwhile(bench: Bench) -> None:
    """The failed content is active by then: the revision before it is installed all the same."""
    one = begun(bench)
    former = one.status.history[0]
    latest = replace(former, bundle=WANTED, digest=DIGEST, revision=2, template=None)
    record = RolledBack(revision=1, content=DIGEST, options=options_of(one.spec).digest, bundle=WANTED, time=STARTED)
    status = replace(
        one.status,
        active_bundle=WANTED,
        digest=DIGEST,
        history=(latest, replace(former, revision=1)),
        upgrade=None,
        rollback=record,
    )
    bench.client.objects.clear()
    bench.bundles.drop(WANTED, bench.bundles.get(WANTED).metadata.uid)  # type: ignore[union-attr]
    bench.put_bundle(unpacked(FORMER, digest=OTHER_DIGEST))
    bench.put(replace(one, status=status, metadata=replace(one.metadata, resource_version="")))
    await bench.reconcile()
    assert bench.content.asked == [KEPT]
    assert bench.status.rollback == record


async def test_other_content_ends_the_state(bench: Bench) -> None:
    one = installed_before(bench, upgrades=UNDO)
    record = RolledBack(revision=1, content="sha256:other", bundle="other", time=STARTED)
    bench.put_bundle(unpacked(bench.put(replace(one, status=replace(one.status, rollback=record)))))
    await bench.reconcile()
    assert bench.content.asked[0] == ("reconcile", WANTED, "after")
    assert (bench.status.rollback, bench.status.active_bundle) == (None, WANTED)


def without_former(bench: Bench) -> None:
    """The Bundle of the former revision is gone."""
    former = bench.bundles.get(ACTIVE)
    assert former is not None
    bench.bundles.drop(ACTIVE, former.metadata.uid)
    bench.client.objects.pop((BUNDLE_KIND, ACTIVE), None)


def without_former_and_server(bench: Bench) -> None:
    without_former(bench)
    bench.client.failing["create"] = refusal(ServerUnavailableError)


async def test_failed_request_for_the_former_bundle_refuses_no_rollback(bench: Bench) -> None:
    begun(bench)
    without_former_and_server(bench)
    bench.content.results[WANTED] = refused(cause=Cause.HOOK_FAILED)
    bench.clock.now += 60.0
    await bench.reconcile()
    assert bench.status.upgrade is not None
    assert not bench.status.upgrade.kept_because
    del bench.client.failing["create"]
    await bench.reconcile(LOOK)
    assert ACTIVE in bench.names


async def test_rollback_whose_bundle_could_not_be_made_is_looked_at_again(bench: Bench) -> None:
    one = begun(bench)
    without_former_and_server(bench)
    record = RolledBack(revision=1, content=DIGEST, options=options_of(one.spec).digest, bundle=WANTED, time=STARTED)
    status = replace(one.status, upgrade=None, rollback=record)
    bench.put(replace(one, status=status, metadata=replace(one.metadata, resource_version="")))
    assert (await bench.reconcile()).report_at is not None


async def test_revision_that_leaves_the_history_by_its_rollback_is_kept_all_the_same(bench: Bench) -> None:
    one = begun(bench)
    former = one.status.history[0]
    fixes = tuple(
        replace(former, revision=revision, bundle=f"fix-{revision}", digest=f"sha256:{revision}", outcome="Installed")
        for revision in (4, 3, 2)
    )
    failed = replace(
        former, revision=5, bundle=WANTED, digest=DIGEST, outcome="Installed", options=recorded(options_of(one.spec))
    )
    history = (failed, *fixes, replace(former, revision=1, outcome="Healthy"))
    assert len(history) == HISTORY
    upgrade = replace(one.status.upgrade, revision=4)  # type: ignore[type-var]
    status = replace(one.status, active_bundle=WANTED, digest=DIGEST, history=history, upgrade=upgrade)
    bench.put(replace(one, status=status))
    bench.content.results[WANTED] = refused(cause=Cause.HOOK_FAILED)
    bench.clock.now += 60.0
    await bench.reconcile()
    assert [entry.revision for entry in bench.status.history] == [6, 5, 4, 3, 2]
    bench.content.asked.clear()
    bench.clock.now += WRITE_INTERVAL_SECONDS
    await bench.reconcile()
    assert bench.content.asked == [KEPT]
    assert bench.conditions["Installed"][0] == "True"


def rolled_back_from_other(bench: Bench, *, is_done: bool) -> RolledBack:
    """Other content has failed, and the rollback from it has begun; the spec has the wanted content by now."""
    one = begun(bench)
    former = one.status.history[0]
    record = RolledBack(revision=1, content="sha256:other", bundle="other", time=STARTED)
    failed = replace(former, revision=2, bundle="other", digest="sha256:other", outcome="Installed", template=None)
    status = replace(one.status, upgrade=None, rollback=record)
    if not is_done:
        history = (failed, replace(former, revision=1))
        status = replace(status, active_bundle="other", digest="sha256:other", history=history)
    bench.put(replace(one, status=status))
    return record


@pytest.mark.parametrize("is_installed", [False, True])
@pytest.mark.parametrize("cause", [Cause.UPGRADE_NOT_APPROVED, Cause.PERMISSIONS_MISSING])
async def test_rollback_comes_to_its_end_before_other_content_is_looked_at(
    bench: Bench, cause: Cause, *, is_installed: bool
) -> None:
    """`is_installed`: what has failed was no revision yet."""
    record = rolled_back_from_other(bench, is_done=is_installed)
    bench.content.results[WANTED] = refused(cause=cause)
    bench.content.results[ACTIVE] = progress(fact(Cause.HOOK_RUNNING), reached=Reached.PARTLY)
    await bench.reconcile()
    assert bench.content.asked == [KEPT]
    assert bench.content.attempts[0].undoes == record
    assert bench.status.rollback == record
    del bench.content.results[ACTIVE]
    assert (await bench.reconcile()).report_at is not None
    assert (bench.content.asked, bench.status.active_bundle) == ([KEPT, KEPT], ACTIVE)
    bench.content.asked.clear()
    await bench.reconcile_after_a_while()
    assert bench.content.asked[0] == ("reconcile", WANTED, "after")
    assert [bench.status.rollback, bench.status.active_bundle] == [None, ACTIVE]


async def test_rollback_whose_bundle_is_on_its_way_keeps_other_content_waiting_for_a_while(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One failed request does not leave it half done."""
    record = rolled_back_from_other(bench, is_done=False)
    without_former_and_server(bench)
    schedule = await bench.reconcile()
    assert schedule.report_at is not None
    assert (bench.content.asked, bench.status.rollback) == ([], record)
    monkeypatch.setattr("rukpak_py.controllers.deployment.reconcile.REFETCHING_SECONDS", 0.0)
    await bench.reconcile()
    assert bench.content.asked[0] == ("reconcile", WANTED, "after")


async def test_rollback_that_the_history_does_not_show_keeps_nothing_waiting(bench: Bench) -> None:
    """Its entry is recorded in another form, for example, so that it is not known again."""
    rolled_back_from_other(bench, is_done=False)
    bench.content.results[ACTIVE] = Progress(reached=Reached.FINISHED)
    await bench.reconcile()
    await bench.reconcile()
    assert bench.content.asked[:2] == [KEPT, ("reconcile", WANTED, "after")]


async def test_rollback_that_cannot_go_on_is_given_up_for_other_content(bench: Bench) -> None:
    rolled_back_from_other(bench, is_done=False)
    bench.content.results[ACTIVE] = refused(cause=Cause.PERMISSIONS_MISSING)
    await bench.reconcile()
    assert bench.content.asked == [KEPT, ("reconcile", WANTED, "after")]
    assert (bench.status.rollback, bench.status.active_bundle) == (None, WANTED)


async def test_answers_of_gates_are_forgotten_when_other_content_is_wanted(bench: Bench) -> None:
    one = begun(bench)
    state = bench.states.of(one.metadata.uid)
    assert state is not None
    await bench.reconcile()
    subject: Any = ()
    state.passed_gates["crds"] = Passed(subject=subject)
    await bench.reconcile()
    assert state.passed_gates
    other = bench.put(replace(bench.stored, spec=replace(bench.stored.spec, install_namespace="other")))
    bench.put_bundle(unpacked(other))
    await bench.reconcile()
    assert not state.passed_gates


async def test_upgrade_has_a_short_while_after_a_pause(bench: Bench) -> None:
    """The time of `onFailure` has passed meanwhile."""
    one = begun(bench)
    bench.content.results[WANTED] = Progress(facts=(fact(Cause.UNHEALTHY),), reached=Reached.PARTLY)
    await bench.reconcile()
    bench.put(replace(stored := bench.stored, spec=replace(stored.spec, suspend=True)))
    bench.clock.now += 6000.0
    await bench.reconcile()
    bench.put(replace(bench.stored, spec=one.spec))
    assert (await bench.reconcile()).report_at is not None
    assert bench.status.rollback is None
    bench.clock.now += 60.0
    await bench.reconcile()
    assert bench.status.rollback is not None


async def test_rollback_that_cannot_be_recorded_is_told_and_tried_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(bench)
    bench.content.results[WANTED] = refused(cause=Cause.HOOK_FAILED)
    bench.clock.now += 60.0

    async def fails(_: Attempt) -> None:
        raise refusal(ServerUnavailableError)

    with monkeypatch.context() as patched:
        patched.setattr(bench.approval, "record", fails)
        schedule = await bench.reconcile()
    assert (bench.status.rollback, bench.status.upgrade is None) == (None, False)
    assert schedule.report_at is not None
    await bench.reconcile()
    assert bench.status.rollback is not None


@pytest.mark.parametrize(("is_known", "reason"), [(True, "Progressing"), (False, "ReconcileFailed")])
async def test_rollback_whose_revision_cannot_be_had_is_not_told_as_done(
    bench: Bench, reason: str, *, is_known: bool
) -> None:
    one = begun(bench)
    record = RolledBack(revision=1, content=DIGEST, options=options_of(one.spec).digest, bundle=WANTED, time=STARTED)
    history = one.status.history if is_known else tuple(replace(each, template=None) for each in one.status.history)
    bench.put(replace(one, status=replace(one.status, upgrade=None, rollback=record, history=history)))
    without_former(bench)
    await bench.reconcile_after_a_while()
    assert bench.conditions["Ready"][1] == reason
    assert ("Warning", "shop", "RolledBack") not in bench.events.told


async def test_finished_rollback_is_told_while_its_bundle_comes_back(bench: Bench) -> None:
    begun(bench)
    bench.content.results[WANTED] = refused(cause=Cause.HOOK_FAILED)
    bench.clock.now += 60.0
    await bench.reconcile()
    told = bench.conditions["Ready"]
    without_former(bench)
    bench.clock.now += WRITE_INTERVAL_SECONDS
    await bench.reconcile_after_a_while()
    assert (bench.conditions["Ready"], told[1]) == (told, "RolledBack")

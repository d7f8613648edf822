"""A hook that is at work for an installation that nobody wants any more, and what is left of those of a deletion."""

import asyncio
from collections.abc import Callable
from dataclasses import replace as replace_fields
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus
from rukpak_py.api.conditions import Summary
from rukpak_py.api.hook_status import HookRecord, RunningHook
from rukpak_py.api.names import HOOK_RUN_ANNOTATION, SKIP_HOOKS_ANNOTATION, Reason
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.hooks.install_and_upgrade import ReleaseHooks
from rukpak_py.controllers.deployment.hooks.results import STALE_SECONDS, HooksFailed, LookAgain, NotRun, Running
from rukpak_py.controllers.deployment.hooks.runs import HookExecution, run_of
from rukpak_py.controllers.deployment.stage import StageResult
from rukpak_py.controllers.deployment.status import SUSPENDED, Report
from rukpak_py.controllers.outcome import DONE, again
from rukpak_py.formats.hook import HookEvent
from rukpak_py.kube.errors import ForbiddenError
from tests.manifests import config_map
from tests.unit.apply.lives import OWNER
from tests.unit.controllers.deployment.hook_bench import HookBench, hook
from tests.unit.controllers.deployment.test_hook_objects import job, reference
from tests.unit.controllers.fakes import NOW, refusal
from tests.unit.controllers.values import deployment
from tests.waiting import until

LATER = "2026-01-01T00:10:00Z"  # than the time limit
BOTH = ("hook-failed", "hook-succeeded")
TEXT = "the pre-upgrade hook Job ns/j of an installation that was given up "
AT_WORK = f"{TEXT}is still running, and is not stopped; it is waited for. To go on now, look at its logs and delete it"
JOB: dict[str, Any] = {"kind": "Job", "metadata": {"name": "j", "uid": "of-j", "creationTimestamp": NOW}}


def running(*policies: str, run: str = "older", event: str = "pre-upgrade") -> RunningHook:
    return RunningHook(
        revision="r",
        run=run,
        event=event,
        group="batch",
        version="v1",
        kind="Job",
        namespace="ns",
        name="j",
        uid="of-j",
        delete_policies=policies,
    )


def bench_with(one: RunningHook | None, live: dict[str, Any] | None = None, **more: Any) -> HookBench:
    bench = HookBench()
    bench.has(deployment(status=BundleDeploymentStatus(running_hook=one), **more))
    if live is not None:
        bench.client.put("Job", live)
    return bench


async def test_it_is_named_while_it_is_at_work() -> None:
    bench = bench_with(running(*BOTH), JOB)
    one = bench.attempt()
    for _ in range(2):
        assert await bench.at_work(one.deployment, []) == Running(text=AT_WORK, hook=running(*BOTH))
    assert bench.events.texts == [("HookGivenUp", AT_WORK)], "once"
    assert bench.writes == []
    assert await bench.at_work(one.deployment, [run_of(one, HookEvent.PRE_INSTALL)]) is not None


async def test_what_is_wanted_is_not_given_up() -> None:
    bench = HookBench()
    bench.has(deployment())
    run = run_of(bench.attempt(), HookEvent.PRE_INSTALL)
    bench = bench_with(running(run=run.mark), JOB)
    assert await bench.at_work(bench.attempt().deployment, [run]) is None
    assert bench.client.calls == []


@pytest.mark.parametrize(
    ("live", "now", "policies", "deleted", "said"),
    [
        (JOB | job(("Complete", "True")), NOW, BOTH, True, "has succeeded"),
        (JOB | job(("Complete", "True")), NOW, ("hook-failed",), False, "has succeeded"),
        (JOB | job(("Failed", "True")), NOW, ("hook-failed",), True, "has failed: Why: so"),
        (JOB | job(("Failed", "True")), NOW, ("hook-succeeded",), False, "has failed: Why: so"),
        (JOB, LATER, (), False, "has failed: it did not end within 300 s"),
        (JOB | {"spec": {"activeDeadlineSeconds": 400}}, LATER, BOTH, True, "has failed: it did not end within 430 s"),
        (None, NOW, BOTH, False, "has failed: it was deleted"),
        (JOB | {"metadata": JOB["metadata"] | {"uid": "another"}}, NOW, BOTH, False, "has failed: it was deleted"),
    ],
)
async def test_once_it_has_ended_its_policy_counts(
    live: dict[str, Any] | None, now: str, policies: tuple[str, ...], said: str, *, deleted: bool
) -> None:
    bench = bench_with(running(*policies), live)
    bench.now = now
    before = bench.attempt().deployment
    assert await bench.at_work(before, []) == LookAgain()
    recorded = bench.status.running_hook
    assert recorded is not None
    assert recorded.result == ("Succeeded" if said == "has succeeded" else "Failed"), "before anything is deleted"
    assert bench.writes == []
    assert await bench.at_work(before, []) == LookAgain(), "whoever still has the status of before"
    then = bench.attempt().deployment
    assert await bench.at_work(then, []) == LookAgain()
    assert await bench.at_work(then, []) is None, "here, too"
    assert bench.status.running_hook is None
    assert bench.events.texts == [("HookEnded", f"{TEXT}{said}")]
    assert (("Job", "j") in bench.client.objects) is (live is not None and not deleted)


@pytest.mark.parametrize(("kind", "recorded"), [("Failed", True), ("Complete", False)])
async def test_of_the_same_installation_as_it_was_rendered_before_a_failure_is_recorded(
    kind: str, *, recorded: bool
) -> None:
    """Else it would be run again although nobody asked."""
    bench = HookBench()
    bench.has(deployment())
    then = run_of(bench.attempt("sha256:lost"), HookEvent.PRE_INSTALL)
    one = replace(running(run=then.mark, event="pre-install"), rendering_digest="sha256:lost", reconcile_at="then")
    bench = bench_with(replace(one, revision=then.revision), JOB | job((kind, "True")))
    for _ in range(1 if recorded else 2):
        assert await bench.look(bench.attempt(), hook({**JOB, "apiVersion": "batch/v1"})) == LookAgain()
    expected = [("Failed", then.mark, "then", NOW)] if recorded else []
    found = [(known.result, known.run, known.reconcile_at, known.started_at) for known in bench.status.hooks]
    assert found == expected
    again = await bench.look(bench.attempt(), hook({**JOB, "apiVersion": "batch/v1"}))
    assert isinstance(again, HooksFailed if recorded else Running)
    await bench.close()


async def test_a_deletion_that_is_refused_is_told_and_tried_again_and_holds_nobody_up() -> None:
    bench = bench_with(running("hook-succeeded"), JOB | job(("Complete", "True")))
    bench.client.failing["delete"] = refusal(ForbiddenError, "says the policy")
    assert await bench.at_work(bench.attempt().deployment, []) == LookAgain()
    for _ in range(2):
        assert await bench.at_work(bench.attempt().deployment, []) is None
    (_, ended), (_, refused) = bench.events.texts
    assert ended == f"{TEXT}has succeeded"
    assert refused.startswith("Job ns/j, a pre-upgrade hook of an installation that was given up, has ended and cannot")
    assert "says the policy" in refused
    release = ReleaseHooks(bench.stage, bench.given_up)
    found = await release.with_given_up(bench.attempt(), StageResult(outcome=DONE, report=READY))
    assert (found.outcome, found.report) == (again(30.0), READY)
    bench.client.failing.clear()
    assert await bench.at_work(bench.attempt().deployment, []) == LookAgain()
    assert bench.writes[-1] == "delete Job j"
    assert bench.status.running_hook is None


async def test_a_success_is_not_forgotten_when_the_status_is_written_meanwhile() -> None:
    """A Job that was deleted by its policy would look like one that failed."""
    bench = bench_with(running("hook-succeeded"), JOB | job(("Complete", "True")))
    stored = bench.live("BundleDeployment", "shop")["metadata"]
    version, stored["resourceVersion"] = stored["resourceVersion"], "newer"
    assert await bench.at_work(bench.attempt().deployment, []) == LookAgain(after=STALE_SECONDS)
    stored["resourceVersion"] = version
    assert ("Job", "j") in bench.client.objects
    for _ in range(2):
        assert await bench.at_work(bench.attempt().deployment, []) == LookAgain()
    assert bench.events.texts == [("HookEnded", f"{TEXT}has succeeded")]
    assert ("Job", "j") not in bench.client.objects


async def test_one_that_is_being_deleted_is_at_work_until_it_is_gone() -> None:
    going = JOB | {"metadata": JOB["metadata"] | {"deletionTimestamp": NOW}, "status": {"active": 1}}
    bench = bench_with(running(), going)
    assert isinstance(await bench.at_work(bench.attempt().deployment, []), Running)


async def test_what_was_never_created_is_nobodys_failure() -> None:
    """The process ended between the status and the object."""
    bench = bench_with(replace(running(*BOTH), uid=""))
    for _ in range(2):
        assert await bench.at_work(bench.attempt().deployment, []) == LookAgain()
    assert bench.status.running_hook is None
    assert (bench.status.hooks, bench.events.told, bench.writes) == ((), [], [])


async def test_an_object_whose_uid_is_not_known_yet_is_known_by_its_mark() -> None:
    marked = JOB | {"metadata": JOB["metadata"] | {"annotations": {HOOK_RUN_ANNOTATION: "older"}}}
    bench = bench_with(replace(running(*BOTH), uid=""), marked)
    assert isinstance(await bench.at_work(bench.attempt().deployment, []), Running)
    bench.live("Job", "j").update(job(("Complete", "True")))
    for _ in range(2):
        assert await bench.at_work(bench.attempt().deployment, []) == LookAgain()
    assert bench.writes == ["delete Job j"]


async def test_what_ended_before_it_in_its_run_goes_with_it() -> None:
    account = replace(RECORD, run="older", kind="ConfigMap", group="", name="a", uid="of-a", result="Succeeded")
    kept = replace(account, name="b", uid="of-b")
    records = (replace(account, delete_policies=("hook-succeeded",)), kept)
    bench = HookBench()
    bench.has(deployment(status=BundleDeploymentStatus(running_hook=running(), hooks=records)))
    bench.client.put("Job", JOB | job(("Complete", "True")))
    for name in ("a", "b"):
        bench.client.put("ConfigMap", {"metadata": {"name": name, "uid": f"of-{name}"}})
    for _ in range(2):
        assert await bench.at_work(bench.attempt().deployment, []) == LookAgain()
    assert bench.writes == ["delete ConfigMap a"]


async def test_a_status_that_was_written_meanwhile_is_read_again() -> None:
    bench = bench_with(running(), JOB | job(("Complete", "True")))
    bench.live("BundleDeployment", "shop")["metadata"]["resourceVersion"] = "newer"
    assert await bench.at_work(bench.attempt().deployment, []) == LookAgain(after=STALE_SECONDS)
    assert bench.events.told == []


async def test_nobody_waits_for_it_who_skips_hooks() -> None:
    bench = bench_with(running(), JOB)
    assert await bench.at_work(bench.attempt(**{SKIP_HOOKS_ANNOTATION: "true"}).deployment, []) is None
    assert bench.events.told == []
    assert bench.status.running_hook is not None


async def test_no_other_hook_is_begun_meanwhile() -> None:
    bench = bench_with(running(), JOB)
    other = hook(config_map())
    assert await bench.look(bench.attempt(), other) == Running(text=AT_WORK, hook=running())
    bench.live("Job", "j").update(job(("Complete", "True")))
    for _ in range(2):
        assert await bench.look(bench.attempt(), other) == LookAgain()
    found = await bench.look(bench.attempt(), other)
    assert isinstance(found, Running)
    assert found.text == "the pre-install hook ConfigMap ns/a is running"
    await bench.close()


def slow_to_create(bench: HookBench, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """The server has what is created, and its answer is on the way until this is set."""
    create, answered = bench.client.create, asyncio.Event()

    async def slow(*args: Any, **more: Any) -> Any:
        made = await create(*args, **more)
        await answered.wait()
        return made

    monkeypatch.setattr(bench.client, "create", slow)
    return answered


async def test_one_that_is_just_being_created_is_waited_for_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The spec changes meanwhile."""
    bench = HookBench()
    bench.has(deployment())
    answered = slow_to_create(bench, monkeypatch)
    first, other = hook({**JOB, "apiVersion": "batch/v1"}), hook(config_map())
    assert isinstance(await bench.look(bench.attempt("sha256:lost"), first), Running)
    await until(lambda: ("Job", "j") in bench.client.objects)
    begun = bench.status.running_hook
    assert begun is not None, "before it was created"
    for _ in range(2):
        found = await bench.look(bench.attempt(), other)
        assert isinstance(found, Running)
        assert "is still running, and is not stopped" in found.text
    answered.set()
    await until(lambda: (known := bench.begun) is not None and known.uid)
    assert isinstance(await bench.look(bench.attempt(), other), Running)
    assert bench.writes == ["create Job j"]
    await bench.close()


async def test_one_that_was_over_and_is_begun_once_more_is_waited_for_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first time it was given up before it could be created."""
    bench = HookBench()
    bench.has(deployment())
    first, other = hook({**JOB, "apiVersion": "batch/v1"}), hook(config_map())
    bench.client.failing["create"] = refusal(ForbiddenError, "exceeded quota")
    assert isinstance(await bench.look(bench.attempt("sha256:lost"), first), Running)
    await bench.until_one_more_has_ended()
    assert isinstance(await bench.look(bench.attempt("sha256:lost"), first), NotRun)
    for _ in range(2):
        assert await bench.at_work(bench.attempt().deployment, []) == LookAgain()

    bench.client.failing.clear()
    answered = slow_to_create(bench, monkeypatch)
    assert isinstance(await bench.look(bench.attempt("sha256:lost"), first), Running)
    await until(lambda: ("Job", "j") in bench.client.objects)
    found = await bench.look(bench.attempt(), other)
    assert isinstance(found, Running)
    assert "is still running, and is not stopped" in found.text
    answered.set()
    await bench.close()
    assert "create ConfigMap a" not in bench.writes


async def test_one_whose_end_was_recorded_and_is_begun_once_more_has_none_by_the_status() -> None:
    """The deployment came back to it before it was cleared, and its object had gone by itself."""
    bench = HookBench()
    bench.has(deployment())
    run = run_of(bench.attempt(), HookEvent.PRE_INSTALL)
    before = replace(running(run=run.mark, event="pre-install"), result="Failed")
    bench = bench_with(before)
    assert isinstance(await bench.look(bench.attempt(), hook({**JOB, "apiVersion": "batch/v1"})), Running)
    await until(lambda: ("Job", "j") in bench.client.objects)
    begun = bench.status.running_hook
    assert begun is not None
    assert begun.result == ""
    await bench.close()


READY = Report(summary=Summary.READY, reason=Reason.PROGRESSING, message="ok", fields={"digest": "d"})


@pytest.mark.parametrize("report", [READY, SUSPENDED, None])
async def test_what_is_wanted_is_not_ready_meanwhile(report: Report | None) -> None:
    bench = bench_with(running(), JOB)
    release = ReleaseHooks(bench.stage, bench.given_up)
    before = StageResult(outcome=DONE, report=report, is_finished=True)
    found = await release.with_given_up(bench.attempt(), before)
    assert (found.outcome, found.is_finished) == (again(5.0), False)
    if report is READY:
        assert found.report is not None
        assert (found.report.summary, found.report.message) == (Summary.PROGRESSING, f"Waiting: {AT_WORK}")
        assert found.report.fields == {"digest": "d", "running_hook": running()}
    elif report is not None:
        assert found.report is not None
        assert found.report.summary is report.summary


async def test_what_was_just_recorded_is_not_written_over_by_what_was_known_before() -> None:
    """The report of a reconcile is made of the status that it began with."""
    bench = HookBench()
    bench.has(deployment())
    then = run_of(bench.attempt("sha256:lost"), HookEvent.PRE_INSTALL)
    hook_of_it = replace(running(run=then.mark, event="pre-install"), rendering_digest="sha256:lost")
    bench = bench_with(replace(hook_of_it, revision=then.revision), JOB | job(("Failed", "True")))
    of_before = replace_fields(READY, fields={"hooks": (), "running_hook": hook_of_it})
    before = StageResult(outcome=DONE, report=of_before, is_finished=True)
    found = await ReleaseHooks(bench.stage, bench.given_up).with_given_up(bench.attempt(), before)
    assert [one.result for one in bench.status.hooks] == ["Failed"]
    assert (found.outcome, found.report, found.is_finished) == (again(0.0), None, False)


async def test_what_is_not_rendered_yet_may_be_what_the_hook_is_of() -> None:
    bench = bench_with(running(), JOB)
    one = bench.attempt()
    one.state.facts.clear()
    before = StageResult(outcome=DONE, report=READY)
    assert await ReleaseHooks(bench.stage, bench.given_up).with_given_up(one, before) is before
    assert bench.client.calls == []


# Between two hooks


def ended(one: HookExecution, name: str, *policies: str, result: str = "Succeeded") -> HookRecord:
    """A record of a run, whose object is there."""
    of = {"revision": one.revision, "run": one.mark, "event": one.event, "result": result, "delete_policies": policies}
    return replace(RECORD, group="", kind="ConfigMap", name=name, uid=f"of-{name}", **of)


def bench_between(*records: HookRecord, **status: Any) -> HookBench:
    bench = HookBench()
    bench.has(deployment(status=BundleDeploymentStatus(hooks=records, **status)))
    for record in records:
        bench.client.put("ConfigMap", {"metadata": {"name": record.name, "uid": record.uid}})
    return bench


GIVEN_UP = HookExecution(revision="r", event=HookEvent.PRE_INSTALL, since="")


async def test_what_ended_before_an_installation_was_given_up_goes_by_its_policy() -> None:
    """And leaves the status, so that the same content begins with it when it comes back."""
    due, kept = ended(GIVEN_UP, "a", "hook-succeeded"), ended(GIVEN_UP, "b")
    bench = bench_between(due, kept)
    release = ReleaseHooks(bench.stage, bench.given_up)
    for fields, hooks in (({"digest": "d"}, (kept,)), ({"digest": "d", "hooks": (due,)}, ())):
        result = StageResult(outcome=DONE, report=replace_fields(READY, fields=fields))
        found = await release.with_given_up(bench.attempt(), result)
        assert found.report == replace_fields(READY, fields={"digest": "d", "hooks": hooks})
    assert bench.writes == ["delete ConfigMap a"] * 2


async def test_it_goes_before_it_is_forgotten() -> None:
    bench = bench_between(ended(GIVEN_UP, "a", "hook-succeeded"))
    bench.client.failing["delete"] = refusal(ForbiddenError, "says the policy")
    release, result = ReleaseHooks(bench.stage, bench.given_up), StageResult(outcome=DONE, report=READY)
    for _ in range(2):
        assert (await release.with_given_up(bench.attempt(), result)).outcome == again(30.0)
    ((_, text),) = bench.events.texts
    assert text.startswith(
        "ConfigMap ns/a, a pre-install hook of an installation that was given up, has ended and cannot"
    )
    assert [one.name for one in bench.status.hooks] == ["a"]


@pytest.mark.parametrize(
    "records",
    [
        # Of what is wanted, of what was installed when something else was, and what no policy speaks of.
        lambda one: [ended(run_of(one, HookEvent.PRE_INSTALL), "a", "hook-succeeded")],
        lambda _: [ended(replace_fields(GIVEN_UP, since=NOW), "a", "hook-succeeded")],
        lambda _: [ended(GIVEN_UP, "a"), ended(GIVEN_UP, "b", result="Failed")],
    ],
)
async def test_what_was_not_given_up_between_two_hooks_stays(records: Callable[[Attempt], list[HookRecord]]) -> None:
    bench = bench_between(*records(HookBench().attempt()))
    result = StageResult(outcome=DONE, report=READY)
    assert await ReleaseHooks(bench.stage, bench.given_up).with_given_up(bench.attempt(), result) is result
    assert bench.client.calls == []


async def test_deletions_after_a_failure_come_to_their_end_and_its_records_stay() -> None:
    """The process ended, or the spec changed, between the record and the deletions."""
    due = (ended(GIVEN_UP, "a", "hook-succeeded"), ended(GIVEN_UP, "b", "hook-failed", result="Failed"))
    bench = bench_between(*due, ended(GIVEN_UP, "c"))
    release, result = ReleaseHooks(bench.stage, bench.given_up), StageResult(outcome=DONE, report=READY)
    for _ in range(2):
        assert await release.with_given_up(bench.attempt(), result) is result
    assert bench.writes == ["delete ConfigMap a", "delete ConfigMap b"], "once by each process"


# What a deletion leaves

KEPT = {"annotations": {"helm.sh/resource-policy": "keep"}}
RECORD = HookRecord(
    revision="r",
    run="m",
    event="pre-delete",
    group="batch",
    version="v1",
    kind="Job",
    namespace="ns",
    name="j",
    uid="of-j",
    result="Failed",
    started_at=NOW,
    finished_at=NOW,
)


@pytest.mark.parametrize(
    ("status", "metadata", "deleted"),
    [
        ({"hooks": (RECORD,)}, {}, True),
        ({"running_hook": running(event="pre-delete")}, {}, True),
        ({"hooks": (RECORD,)}, {"ownerReferences": [reference()]}, False),  # the collector sees to it
        ({"hooks": (RECORD,)}, KEPT, False),
        ({"hooks": (RECORD,)}, {"uid": "another"}, False),
        ({"hooks": (replace(RECORD, event="pre-install"),)}, {}, False),
        ({"hooks": (replace(RECORD, uid=""),)}, {}, False),
    ],
)
async def test_hooks_of_a_deletion_that_nobody_collects_are_deleted(
    status: dict[str, Any], metadata: dict[str, Any], *, deleted: bool
) -> None:
    bench = HookBench()
    of = deployment(status=BundleDeploymentStatus(**status), deletion_timestamp=NOW)
    bench.client.put("Job", JOB | {"metadata": {**JOB["metadata"], **metadata}})
    assert of.metadata.uid == OWNER.uid
    assert await bench.given_up.delete_uncollected(of, bench.state.hooks) == []
    assert (("Job", "j") not in bench.client.objects) is deleted


async def test_what_may_not_be_deleted_is_named() -> None:
    bench = HookBench()
    bench.client.put("Job", JOB)
    bench.client.failing["delete"] = refusal(ForbiddenError, "says the policy")
    of = deployment(status=BundleDeploymentStatus(hooks=(RECORD,)), deletion_timestamp=NOW)
    ((key, error),) = await bench.given_up.delete_uncollected(of, bench.state.hooks)
    assert (str(key), str(error)) == ("Job ns/j", str(bench.client.failing["delete"]))

"""Hooks of an installation that another one superseded, and what is left of those of a deletion."""

from collections.abc import Callable
from dataclasses import replace as replace_fields
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus
from rukpak_py.api.hook_status import HookRecord, RunningHook
from rukpak_py.api.names import HOOK_RUN_ANNOTATION, OWNER_UID_ANNOTATION, SKIP_HOOKS_ANNOTATION
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.facts import GONE
from rukpak_py.controllers.deployment.hooks.facts import STALE_SECONDS, HooksOver, LookAgain, SupersededHookRuns
from rukpak_py.controllers.deployment.hooks.runs import HookExecution, run_of
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.deployment_details import SUSPENDED
from rukpak_py.controllers.result.object_details import Pruned
from rukpak_py.controllers.result.progress import NO_CHANGE, Fact, Progress, Reached, StatusChange
from rukpak_py.formats.hook import HookEvent
from rukpak_py.kube.errors import ForbiddenError, StaleError
from tests.manifests import config_map
from tests.unit.apply.lives import OWNER
from tests.unit.controllers.deployment.hook_bench import (
    HookBench,
    causes,
    hook,
    is_next_look,
    is_running,
    pause,
    texts,
)
from tests.unit.controllers.deployment.test_hook_objects import job, reference
from tests.unit.controllers.fakes import NOW, refusal
from tests.unit.controllers.result.concluding import READY, after
from tests.unit.controllers.values import deployment, hook_record

RUN = {HOOK_RUN_ANNOTATION: "older"}
LATER = "2026-01-01T00:10:00Z"  # than the time limit
SILENT = "has failed: its status does not say why"
BOTH = ("hook-failed", "hook-succeeded")
TEXT = "the pre-upgrade hook Job.batch/ns/j of an installation that was given up "
AT_WORK = (
    f"{TEXT}is still running. The operator waits for it to end, because it may be half a migration. "
    "To go on at once, look at its logs, then delete it"
)
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


async def test_superseded_hook_is_named_while_it_runs() -> None:
    bench = bench_with(running(*BOTH), JOB)
    one = bench.attempt()
    found = await bench.proceed(one.deployment, [])
    assert found == SupersededHookRuns(hook=running(*BOTH))
    assert (causes(found), texts(found)) == ([Cause.FORMER_HOOK], [AT_WORK])
    assert bench.writes == []
    assert await bench.proceed(one.deployment, [run_of(one, HookEvent.PRE_INSTALL)]) is not None


async def test_hook_of_a_wanted_run_is_not_superseded() -> None:
    bench = HookBench()
    bench.has(deployment())
    run = run_of(bench.attempt(), HookEvent.PRE_INSTALL)
    bench = bench_with(running(run=run.mark), JOB)
    assert await bench.proceed(bench.attempt().deployment, [run]) == HooksOver()
    assert bench.client.calls == []


async def test_superseded_hook_that_goes_after_its_end_was_seen_counts_as_it_ended() -> None:
    bench = bench_with(running(run="older"), JOB | {"metadata": {**JOB["metadata"], "annotations": RUN}})
    bench.live("Job", "j").update(job(("Complete", "True")))
    bench.client.failing["status"] = refusal(StaleError)
    assert await bench.proceed(bench.attempt().deployment, []) == LookAgain(after=STALE_SECONDS)
    bench.client.failing.clear()
    del bench.client.objects["Job", "j"]
    found = await bench.proceed(bench.attempt().deployment, [])
    assert texts(found) == [f"{TEXT}has succeeded"]


async def test_superseded_hook_that_cannot_be_read_is_waited_for_with_the_reason() -> None:
    bench = bench_with(running(), JOB)
    bench.client.failing["get"] = refusal(ForbiddenError, "you may not")
    found = await bench.proceed(bench.attempt().deployment, [])
    assert causes(found) == [Cause.FORMER_HOOK, Cause.API_DENIED]
    assert texts(found)[1].startswith(f"{AT_WORK}; ")
    assert "you may not" in texts(found)[1]


@pytest.mark.parametrize(
    ("live", "now", "policies", "deleted", "said"),
    [
        (JOB | job(("Complete", "True")), NOW, BOTH, True, "has succeeded"),
        (JOB | job(("Complete", "True")), NOW, ("hook-failed",), False, "has succeeded"),
        (JOB | job(("Failed", "True")), NOW, ("hook-failed",), True, "has failed: Why: so"),
        (JOB | job(("Failed", "True")), NOW, ("hook-succeeded",), False, "has failed: Why: so"),
        (JOB | {"status": {"conditions": [{"type": "Failed", "status": "True"}]}}, NOW, (), False, SILENT),
        (JOB, LATER, (), False, "has failed: it did not end within 300 s"),
        (JOB | {"spec": {"activeDeadlineSeconds": 400}}, LATER, BOTH, True, "has failed: it did not end within 430 s"),
        (None, NOW, BOTH, False, "has failed: it was deleted"),
        (JOB | {"metadata": JOB["metadata"] | {"uid": "another"}}, NOW, BOTH, False, "has failed: it was deleted"),
    ],
)
async def test_superseded_hook_that_ended_is_recorded_then_deleted_by_its_policy(
    live: dict[str, Any] | None, now: str, policies: tuple[str, ...], said: str, *, deleted: bool
) -> None:
    bench = bench_with(running(*policies), live)
    bench.now = now
    first = await bench.proceed(bench.attempt().deployment, [])
    assert isinstance(first, LookAgain)
    assert (first.after, texts(first)) == (0.0, [f"{TEXT}{said}"])
    assert causes(first) == [Cause.FORMER_HOOK_ENDED if said == "has succeeded" else Cause.FORMER_HOOK_FAILED]
    recorded = bench.status.running_hook
    assert recorded is not None
    assert recorded.result == ("Succeeded" if said == "has succeeded" else "Failed"), "before anything is deleted"
    assert bench.writes == []
    then = bench.attempt().deployment
    assert await bench.proceed(then, []) == LookAgain()
    assert await bench.proceed(then, []) == HooksOver(), "also of the look whose status is older"
    assert bench.status.running_hook is None
    assert (("Job", "j") in bench.client.objects) is (live is not None and not deleted)


@pytest.mark.parametrize(("kind", "recorded"), [("Failed", True), ("Complete", False)])
async def test_failure_of_a_hook_of_a_former_rendering_is_recorded_among_the_hooks(
    kind: str, *, recorded: bool
) -> None:
    """Else it would be run again unasked."""
    bench = HookBench()
    bench.has(deployment())
    then = run_of(bench.attempt("sha256:lost"), HookEvent.PRE_INSTALL)
    one = replace(running(run=then.mark, event="pre-install"), rendering_digest="sha256:lost", reconcile_at="then")
    marked = {**JOB["metadata"], "annotations": {HOOK_RUN_ANNOTATION: then.mark, OWNER_UID_ANNOTATION: OWNER.uid}}
    bench = bench_with(replace(one, revision=then.revision), JOB | {"metadata": marked} | job((kind, "True")))
    for _ in range(1 if recorded else 2):
        found = await bench.look(bench.attempt(), hook({**JOB, "apiVersion": "batch/v1"}))
        assert pause(found) == 0
    expected = [("Failed", then.mark, "then", NOW)] if recorded else []
    assert [(one.result, one.run, one.reconcile_at, one.started_at) for one in bench.status.hooks] == expected
    again = await bench.look(bench.attempt(), hook({**JOB, "apiVersion": "batch/v1"}))
    assert causes(again) == [Cause.HOOK_FAILED if recorded else Cause.HOOK_RUNNING]


async def test_superseded_hook_whose_deletion_is_refused_is_told_and_holds_nothing_up() -> None:
    bench = bench_with(running("hook-succeeded"), JOB | job(("Complete", "True")))
    bench.client.failing["delete"] = refusal(ForbiddenError, "says the policy")
    assert isinstance(await bench.proceed(bench.attempt().deployment, []), LookAgain)
    for _ in range(2):
        found = await bench.proceed(bench.attempt().deployment, [])
        assert isinstance(found, HooksOver)
        assert causes(found) == [Cause.FORMER_HOOK_LEFT]
    (text,) = texts(found)
    assert text.startswith(
        "Job.batch/ns/j, a pre-upgrade hook of an installation that was given up, has ended and cannot"
    )
    assert "says the policy" in text
    progress = await bench.release.with_superseded(bench.attempt(), FINISHED)
    assert (pause(progress), progress.reached, causes(progress)) == (30, Reached.FINISHED, [Cause.FORMER_HOOK_LEFT])
    assert ready(progress) == ("True", "Succeeded")
    bench.client.failing.clear()
    assert await bench.proceed(bench.attempt().deployment, []) == LookAgain()
    assert bench.writes[-1] == "delete Job j"
    assert bench.status.running_hook is None


async def test_superseded_hook_is_not_deleted_before_its_success_is_recorded() -> None:
    """A Job that was deleted by its policy would look like one that failed."""
    bench = bench_with(running("hook-succeeded"), JOB | job(("Complete", "True")))
    stored = bench.live("BundleDeployment", "shop")["metadata"]
    version, stored["resourceVersion"] = stored["resourceVersion"], "newer"
    assert await bench.proceed(bench.attempt().deployment, []) == LookAgain(after=STALE_SECONDS)
    stored["resourceVersion"] = version
    assert ("Job", "j") in bench.client.objects
    found = await bench.proceed(bench.attempt().deployment, [])
    assert (causes(found), texts(found)) == ([Cause.FORMER_HOOK_ENDED], [f"{TEXT}has succeeded"])
    assert await bench.proceed(bench.attempt().deployment, []) == LookAgain()
    assert ("Job", "j") not in bench.client.objects


async def test_superseded_hook_that_is_being_deleted_runs_until_it_is_gone() -> None:
    going = JOB | {"metadata": JOB["metadata"] | {"deletionTimestamp": NOW}, "status": {"active": 1}}
    bench = bench_with(running(), going)
    assert isinstance(await bench.proceed(bench.attempt().deployment, []), SupersededHookRuns)


async def test_superseded_hook_that_was_never_created_is_no_failure() -> None:
    """The process ended between the status and the object."""
    bench = bench_with(replace(running(*BOTH), uid=""))
    for _ in range(2):
        assert await bench.proceed(bench.attempt().deployment, []) == LookAgain()
    assert bench.status.running_hook is None
    assert (bench.status.hooks, bench.writes) == ((), [])


async def test_superseded_hook_without_a_recorded_uid_is_found_by_its_mark() -> None:
    marked = JOB | {"metadata": JOB["metadata"] | {"annotations": {HOOK_RUN_ANNOTATION: "older"}}}
    bench = bench_with(replace(running(*BOTH), uid=""), marked)
    assert isinstance(await bench.proceed(bench.attempt().deployment, []), SupersededHookRuns)
    bench.live("Job", "j").update(job(("Complete", "True")))
    for _ in range(2):
        assert isinstance(await bench.proceed(bench.attempt().deployment, []), LookAgain)
    assert bench.writes == ["delete Job j"]


async def test_hooks_that_ended_before_a_superseded_one_go_with_it() -> None:
    account = replace(RECORD, run="older", kind="ConfigMap", group="", name="a", uid="of-a", result="Succeeded")
    kept = replace(account, name="b", uid="of-b")
    records = (replace(account, delete_policies=("hook-succeeded",)), kept)
    bench = HookBench()
    bench.has(deployment(status=BundleDeploymentStatus(running_hook=running(), hooks=records)))
    bench.client.put("Job", JOB | job(("Complete", "True")))
    for name in ("a", "b"):
        bench.client.put("ConfigMap", {"metadata": {"name": name, "uid": f"of-{name}"}})
    for _ in range(2):
        assert isinstance(await bench.proceed(bench.attempt().deployment, []), LookAgain)
    assert bench.writes == ["delete ConfigMap a"]


async def test_status_that_was_written_meanwhile_is_read_again() -> None:
    bench = bench_with(running(), JOB | job(("Complete", "True")))
    bench.live("BundleDeployment", "shop")["metadata"]["resourceVersion"] = "newer"
    assert await bench.proceed(bench.attempt().deployment, []) == LookAgain(after=STALE_SECONDS)


async def test_superseded_hook_is_not_waited_for_where_hooks_are_skipped() -> None:
    bench = bench_with(running(), JOB)
    skipping = bench.attempt(**{SKIP_HOOKS_ANNOTATION: "true"}).deployment
    assert await bench.proceed(skipping, []) == HooksOver()
    assert bench.status.running_hook is not None
    bench.live("Job", "j").update(job(("Complete", "True")))
    assert await bench.proceed(skipping, []) == LookAgain(), "recorded, and not told"


async def test_no_other_hook_is_begun_while_a_superseded_one_runs() -> None:
    bench = bench_with(running(), JOB)
    other = hook(config_map())
    found = await bench.look(bench.attempt(), other)
    assert isinstance(found, Progress)
    assert texts(found) == [AT_WORK]
    bench.live("Job", "j").update(job(("Complete", "True")))
    for _ in range(2):
        assert pause(await bench.look(bench.attempt(), other)) == 0
    found = await bench.look(bench.attempt(), other)
    assert texts(found) == ["the pre-install hook ConfigMap ns/a is running"]


async def test_superseded_hook_that_may_not_be_deleted_is_told_beside_the_next_hook() -> None:
    bench = bench_with(replace(running("hook-succeeded"), result="Succeeded"), JOB | job(("Complete", "True")))
    bench.client.failing["delete"] = refusal(ForbiddenError, "says the policy")
    found = await bench.look(bench.attempt(), hook(config_map()))
    assert causes(found) == [Cause.HOOK_RUNNING, Cause.FORMER_HOOK_LEFT]


async def test_hook_whose_spec_changes_right_after_its_creation_is_waited_for_too() -> None:
    bench = HookBench()
    bench.has(deployment())
    first, other = hook({**JOB, "apiVersion": "batch/v1"}), hook(config_map())
    assert is_running(await bench.run(first, rendering="sha256:lost"))
    assert causes(await bench.run(other)) == [Cause.FORMER_HOOK]
    assert bench.writes == ["create Job j"]


async def test_hook_that_could_not_be_created_before_it_was_superseded_holds_nothing_up() -> None:
    """And is waited for when it is begun once more."""
    bench = HookBench()
    bench.has(deployment())
    first, other = hook({**JOB, "apiVersion": "batch/v1"}), hook(config_map())
    bench.client.failing["create"] = refusal(ForbiddenError, "exceeded quota")
    assert causes(await bench.run(first, rendering="sha256:lost")) == [Cause.HOOK_NOT_RUN]
    for _ in range(2):
        assert await bench.proceed(bench.attempt().deployment, []) == LookAgain()
    bench.client.failing.clear()
    assert is_running(await bench.run(first, rendering="sha256:lost"))
    assert causes(await bench.run(other)) == [Cause.FORMER_HOOK]
    assert "create ConfigMap a" not in bench.writes


async def test_superseded_hook_that_is_begun_once_more_has_no_recorded_end() -> None:
    """The deployment came back to it before it was cleared, and its object had gone by itself."""
    bench = HookBench()
    bench.has(deployment())
    run = run_of(bench.attempt(), HookEvent.PRE_INSTALL)
    before = replace(running(run=run.mark, event="pre-install"), result="Failed")
    bench = bench_with(before)
    assert is_running(await bench.run(hook({**JOB, "apiVersion": "batch/v1"})))
    assert ("Job", "j") in bench.client.objects
    begun = bench.status.running_hook
    assert begun is not None
    assert begun.result == ""


OTHERS = StatusChange(delete_hooks=True)  # what other stages say
FINISHED = Progress(change=OTHERS, reached=Reached.FINISHED)
PAUSED = Progress(facts=(Fact(cause=Cause.SUSPENDED, detail=SUSPENDED),))
PRUNED = Fact(cause=Cause.PRUNED, detail=Pruned())


def ready(progress: Progress) -> tuple[str, str]:
    """Ready condition after the conclusion about the installed content."""
    (found,) = (one for one in after(READY, installed=progress).conditions if one.type == "Ready")
    return found.status, found.reason


async def test_deployment_is_not_ready_while_a_superseded_hook_runs() -> None:
    bench = bench_with(running(), JOB)
    found = await bench.release.with_superseded(bench.attempt(), FINISHED)
    assert (causes(found), found.reached) == ([Cause.FORMER_HOOK], Reached.APPLIED)
    assert found.change == OTHERS
    assert ready(found) == ("Unknown", "Progressing")
    assert (await bench.release.with_superseded(bench.attempt(), PAUSED)).reached is Reached.NOTHING
    assert await bench.release.with_superseded(bench.attempt(), GONE) is GONE


async def test_superseded_hook_that_a_stage_names_is_named_once() -> None:
    """Two stages must not set one field of the status."""
    bench = bench_with(running(), JOB)
    waits = await bench.look(bench.attempt(), hook(config_map()))
    assert isinstance(waits, Progress)
    found = await bench.release.with_superseded(bench.attempt(), waits)
    assert found == waits


async def test_record_of_a_superseded_hook_is_not_written_over_by_older_changes() -> None:
    """The rest of a look is made of the status that it began with."""
    bench = HookBench()
    bench.has(deployment())
    then = run_of(bench.attempt("sha256:lost"), HookEvent.PRE_INSTALL)
    hook_of_it = replace(running(run=then.mark, event="pre-install"), rendering_digest="sha256:lost")
    bench = bench_with(replace(hook_of_it, revision=then.revision), JOB | job(("Failed", "True")))
    before = replace_fields(FINISHED, facts=(PRUNED, *PAUSED.facts), change=StatusChange(hooks=()))
    found = await bench.release.with_superseded(bench.attempt(), before)
    assert [one.result for one in bench.status.hooks] == ["Failed"]
    assert causes(found) == [Cause.PRUNED, Cause.FORMER_HOOK_FAILED], "what has happened"
    assert (pause(found), found.change, found.reached) == (0, NO_CHANGE, Reached.PARTLY)
    assert after(READY, installed=found) == READY


async def test_hook_is_not_superseded_before_what_is_wanted_is_rendered() -> None:
    bench = bench_with(running(), JOB)
    one = bench.attempt()
    one.state.facts.clear()
    found = await bench.release.with_superseded(one, FINISHED)
    assert (causes(found), found.reached, found.change) == ([], Reached.FINISHED, OTHERS)
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


SUPERSEDED = HookExecution(revision="r", event=HookEvent.PRE_INSTALL, since="")


async def test_hooks_of_an_installation_superseded_between_two_of_them_go_by_their_policy() -> None:
    """And leaves the status, so that the same content begins with it when it comes back."""
    due, kept = ended(SUPERSEDED, "a", "hook-succeeded"), ended(SUPERSEDED, "b")
    bench = bench_between(due, kept)
    assert is_next_look(await bench.release.with_superseded(bench.attempt(), FINISHED))
    assert bench.status.hooks == (kept,)
    assert await bench.release.with_superseded(bench.attempt(), FINISHED) == FINISHED
    assert bench.writes == ["delete ConfigMap a"]


async def test_record_that_this_look_has_written_of_another_hook_stays() -> None:
    due, other = ended(SUPERSEDED, "a", "hook-succeeded"), ended(SUPERSEDED, "b")
    bench = bench_between(due)
    before = bench.attempt()
    newer = replace(bench.status, hooks=(due, other))
    bench.deployments.put(deployment(status=newer, resource_version="2"))
    bench.live("BundleDeployment", "shop")["metadata"]["resourceVersion"] = "2"
    assert is_next_look(await bench.release.with_superseded(before, FINISHED))
    assert bench.status.hooks == (other,)


async def test_superseded_hook_is_deleted_before_its_record() -> None:
    bench = bench_between(ended(SUPERSEDED, "a", "hook-succeeded"))
    bench.client.failing["delete"] = refusal(ForbiddenError, "says the policy")
    found = await bench.release.with_superseded(bench.attempt(), FINISHED)
    assert (causes(found), pause(found), found.reached) == ([Cause.FORMER_HOOK_LEFT], 30, Reached.FINISHED)
    assert texts(found)[0].startswith(
        "ConfigMap ns/a, a pre-install hook of an installation that was given up, has ended and cannot"
    )
    assert [one.name for one in bench.status.hooks] == ["a"]


async def test_status_that_was_written_meanwhile_is_read_before_a_record_goes() -> None:
    bench = bench_between(ended(SUPERSEDED, "a", "hook-succeeded"))
    bench.live("BundleDeployment", "shop")["metadata"]["resourceVersion"] = "newer"
    found = await bench.release.with_superseded(bench.attempt(), FINISHED)
    assert is_next_look(found, after=STALE_SECONDS)


@pytest.mark.parametrize(
    "records",
    [
        # Of what is wanted, of what was installed when something else was, and what no policy speaks of.
        lambda one: [ended(run_of(one, HookEvent.PRE_INSTALL), "a", "hook-succeeded")],
        lambda _: [ended(replace_fields(SUPERSEDED, since=NOW), "a", "hook-succeeded")],
        lambda _: [ended(SUPERSEDED, "a"), ended(SUPERSEDED, "b", result="Failed")],
    ],
)
async def test_hooks_that_were_not_superseded_stay(records: Callable[[Attempt], list[HookRecord]]) -> None:
    bench = bench_between(*records(HookBench().attempt()))
    assert await bench.release.with_superseded(bench.attempt(), FINISHED) == FINISHED
    assert bench.client.calls == []


async def test_deletions_after_a_failure_are_completed_and_its_records_stay() -> None:
    """The process ended, or the spec changed, between the record and the deletions."""
    due = (ended(SUPERSEDED, "a", "hook-succeeded"), ended(SUPERSEDED, "b", "hook-failed", result="Failed"))
    bench = bench_between(*due, ended(SUPERSEDED, "c"))
    for _ in range(2):
        assert await bench.release.with_superseded(bench.attempt(), FINISHED) == FINISHED
    assert bench.writes == ["delete ConfigMap a", "delete ConfigMap b"], "once by each process"


# What a deletion leaves

KEPT = {"annotations": {"helm.sh/resource-policy": "keep"}}
RECORD = hook_record(
    event="pre-delete", group="batch", kind="Job", namespace="ns", name="j", uid="of-j", result="Failed"
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
async def test_hooks_of_a_deletion_that_the_collector_leaves_are_deleted(
    status: dict[str, Any], metadata: dict[str, Any], *, deleted: bool
) -> None:
    bench = HookBench()
    of = deployment(status=BundleDeploymentStatus(**status), deletion_timestamp=NOW)
    bench.client.put("Job", JOB | {"metadata": {**JOB["metadata"], **metadata}})
    assert of.metadata.uid == OWNER.uid
    assert await bench.superseded.delete_uncollected(of) == []
    assert (("Job", "j") not in bench.client.objects) is deleted


async def test_hook_of_a_deletion_that_may_not_be_deleted_is_named() -> None:
    bench = HookBench()
    bench.client.put("Job", JOB)
    bench.client.failing["delete"] = refusal(ForbiddenError, "says the policy")
    of = deployment(status=BundleDeploymentStatus(hooks=(RECORD,)), deletion_timestamp=NOW)
    ((key, error),) = await bench.superseded.delete_uncollected(of)
    assert (str(key), str(error)) == ("Job.batch/ns/j", str(bench.client.failing["delete"]))

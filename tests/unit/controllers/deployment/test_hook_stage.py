"""Hooks of an installation whose rendering is lost half-way, and requests that come while a hook runs."""

import orjson
import pytest

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus
from rukpak_py.api.conditions import Note
from rukpak_py.api.names import RECONCILE_AT_ANNOTATION, SKIP_HOOKS_ANNOTATION, Reason
from rukpak_py.apply.kinds import Resolution
from rukpak_py.controllers.deployment.hooks.facts import HOOKS_BEGIN_AGAIN, HOOKS_SKIPPED, HooksOver
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Fact, Progress, Reached
from rukpak_py.core.logs import JsonFormatter, about
from rukpak_py.formats.format import RenderedContent
from rukpak_py.formats.hook import DeletePolicy, HookEvent
from rukpak_py.kube.errors import ForbiddenError
from tests.manifests import config_map
from tests.unit.controllers.deployment.hook_bench import (
    HookBench,
    causes,
    has,
    hook,
    is_next_look,
    is_running,
    pause,
    texts,
)
from tests.unit.controllers.deployment.test_hook_objects import job
from tests.unit.controllers.fakes import NOW, refusal
from tests.unit.controllers.values import deployment

JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {}}
MAP_HOOK, JOB_HOOK = hook(config_map()), hook(JOB)
LOST = "sha256:lost"
FINISHED = Progress(reached=Reached.FINISHED)


@pytest.fixture
def bench() -> HookBench:
    bench = HookBench()
    bench.has(deployment())
    return bench


def records(bench: HookBench) -> list[tuple[str, str]]:
    return [(record.name, record.rendering_digest) for record in bench.status.hooks]


async def test_hooks_of_a_rendering_that_is_lost_are_run_again(bench: HookBench) -> None:
    await bench.run(MAP_HOOK, rendering=LOST)
    assert records(bench) == [("a", LOST)]
    assert await bench.look(bench.attempt(LOST), MAP_HOOK) == HooksOver()
    found = await bench.look(bench.attempt(), MAP_HOOK)
    assert texts(found)[0] == f"the pre-install hook ConfigMap ns/a is running; {HOOKS_BEGIN_AGAIN.detail.text(())}"
    assert causes(found) == [Cause.HOOK_RUNNING, Cause.HOOKS_BEGIN_AGAIN]
    await bench.run(MAP_HOOK)
    assert bench.writes == ["create ConfigMap a", "delete ConfigMap a", "create ConfigMap a"]
    assert records(bench) == [("a", "sha256:a")]
    assert await bench.look(bench.attempt(), MAP_HOOK) == HooksOver()


async def test_hooks_that_are_run_again_are_told_however_fast_they_are(bench: HookBench) -> None:
    """Their records leave no trace of it, and what ends within a moment is in no status before."""
    await bench.run(MAP_HOOK, rendering=LOST)
    await bench.look(bench.attempt(), MAP_HOOK)
    await bench.run(MAP_HOOK)
    assert await bench.look(bench.attempt(), MAP_HOOK) == HooksOver()
    assert await told_after_it_is_applied(bench) == [HOOKS_BEGIN_AGAIN]


async def test_hooks_that_are_skipped_are_told_until_a_status_shows_it(bench: HookBench) -> None:
    skipping = bench.attempt(**{SKIP_HOOKS_ANNOTATION: "true"})
    assert await bench.look(skipping, MAP_HOOK) == HooksOver(facts=(HOOKS_SKIPPED,))
    assert bench.writes == []
    for _ in range(2):
        assert await told_after_it_is_applied(bench) == [HOOKS_SKIPPED]
    shown = Note(reason=Cause.HOOKS_SKIPPED, since=NOW, id="x")
    bench.has(deployment(status=BundleDeploymentStatus(notes=(shown,)), resource_version="2"))
    assert await told_after_it_is_applied(bench) == []


async def told_after_it_is_applied(bench: HookBench) -> list[Fact]:
    """The facts of a look that comes to no hook."""
    found = await bench.release.with_superseded(bench.attempt(), FINISHED)
    assert found.reached is Reached.FINISHED
    return list(found.facts)


async def test_a_hook_that_may_not_be_replaced_is_named_and_nothing_is_mixed(bench: HookBench) -> None:
    lasting = hook(config_map(), DeletePolicy.HOOK_FAILED)
    await bench.run(lasting, rendering=LOST)
    found = await bench.run(lasting)
    assert causes(found) == [Cause.CONFLICT, Cause.HOOKS_BEGIN_AGAIN]
    assert "ConfigMap ns/a was left by a former hook" in texts(found)[0]
    assert HOOKS_BEGIN_AGAIN.detail.text(()) in texts(found)[0]
    assert records(bench) == [("a", LOST)]


async def test_failed_hook_of_a_rendering_that_is_lost_is_not_run_again_unasked(bench: HookBench) -> None:
    await bench.run(JOB_HOOK, rendering=LOST)
    bench.live("Job", "j").update(job(("Failed", "True")))
    await bench.run(JOB_HOOK, rendering=LOST)
    found = await bench.look(bench.attempt(), JOB_HOOK)
    assert causes(found) == [Cause.HOOK_FAILED]
    assert "Job.batch/ns/j failed: Why: so, and the rendering that it is of is lost" in texts(found)[0]
    assert bench.writes == ["create Job j"]
    assert is_running(await bench.run(JOB_HOOK, annotations={RECONCILE_AT_ANNOTATION: "now"}))
    assert bench.writes == ["create Job j", "delete Job j", "create Job j"]


async def test_request_while_a_hook_runs_runs_it_again_once_it_has_failed(bench: HookBench) -> None:
    await bench.run(JOB_HOOK)
    uid = bench.live("Job", "j")["metadata"]["uid"]
    asked = {RECONCILE_AT_ANNOTATION: "now"}
    assert has(await bench.look(bench.attempt(**asked), JOB_HOOK), Cause.REQUEST_OPEN)
    bench.live("Job", "j").update(job(("Failed", "True")))
    await bench.look(bench.attempt(**asked), JOB_HOOK)
    assert (bench.status.hooks[0].reconcile_at, bench.status.last_handled_reconcile_at) == ("", "")
    found = await bench.run(JOB_HOOK, annotations=asked)
    assert bench.live("Job", "j")["metadata"]["uid"] != uid
    assert is_running(found)
    assert not has(found, Cause.REQUEST_OPEN)


async def test_hook_of_another_process_whose_end_no_process_saw_is_not_begun_again_unasked(bench: HookBench) -> None:
    """It went with its time to live, for instance, while no process was there."""
    await bench.run(JOB_HOOK)
    begun = bench.status.running_hook
    assert begun is not None
    later = HookBench()
    later.has(deployment(status=BundleDeploymentStatus(running_hook=begun)))
    found = await later.run(JOB_HOOK)
    assert causes(found) == [Cause.HOOK_FAILED]
    assert "Job.batch/ns/j failed: it was deleted before it ended" in texts(found)[0]
    assert ([one.uid for one in later.status.hooks], later.status.running_hook) == ([begun.uid], None)
    assert later.writes == []
    assert is_running(await later.run(JOB_HOOK, annotations={RECONCILE_AT_ANNOTATION: "now"}))
    assert later.writes == ["create Job j"]


async def test_failed_hook_whose_deletion_was_refused_is_deleted_again(bench: HookBench) -> None:
    failing = hook(JOB, DeletePolicy.HOOK_FAILED)
    await bench.run(failing)
    bench.live("Job", "j").update(job(("Failed", "True")))
    assert is_next_look(await bench.look(bench.attempt(), failing))
    rendered = Rendered(
        desired=(),
        resolution=Resolution(states={}, resources={}),
        content=RenderedContent(objects=(), hooks=(failing,)),
    )
    bench.client.failing["delete"] = refusal(ForbiddenError, "says the policy")
    first = await bench.release.before(bench.attempt(), rendered)
    bench.client.failing.clear()
    second = await bench.release.before(bench.attempt(), rendered)
    for found in (first, second):
        assert isinstance(found, Progress)
        assert (causes(found), found.reached) == ([Cause.HOOK_FAILED], Reached.NOTHING)
    assert pause(first) == 30
    assert not has(second, Cause.LOOK_AGAIN)
    assert ("Job", "j") not in bench.client.objects


async def test_deletion_of_a_failed_hook_that_is_refused_again_is_logged_once(
    bench: HookBench, caplog: pytest.LogCaptureFixture
) -> None:
    failing = hook(JOB, DeletePolicy.HOOK_FAILED)
    await bench.run(failing)
    bench.live("Job", "j").update(job(("Failed", "True")))
    await bench.look(bench.attempt(), failing)
    bench.client.failing["delete"] = refusal(ForbiddenError, "says the policy")
    with about("BundleDeployment", "with-a-hook-that-stays"):
        for _ in range(3):
            await bench.look(bench.attempt(), failing)
    (record,) = caplog.records
    assert "could not delete the hook" in record.getMessage()
    assert orjson.loads(JsonFormatter().format(record))["reason"] == Reason.ACCESS_DENIED


async def test_hook_after_everything_was_applied_is_no_refusal(bench: HookBench) -> None:
    after = hook(JOB, event=HookEvent.POST_INSTALL)
    rendered = Rendered(
        desired=(), resolution=Resolution(states={}, resources={}), content=RenderedContent(objects=(), hooks=(after,))
    )
    found = await bench.release.after(bench.attempt(), rendered)
    assert isinstance(found, Progress)
    assert (causes(found), found.reached) == ([Cause.HOOK_RUNNING], Reached.PARTLY)

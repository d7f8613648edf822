"""The job of a hook: begun once, only for what is still wanted, and its end kept until it is recorded."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.hook_status import RunningHook
from rukpak_py.api.names import RECONCILE_AT_ANNOTATION, SKIP_HOOKS_ANNOTATION
from rukpak_py.apply.results import Failure, FailureKind, kind_wakes, quota_wake
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment import messages
from rukpak_py.controllers.deployment.hooks.hook_facts import hook_not_run
from rukpak_py.controllers.deployment.hooks.hook_jobs import UNWANTED_SECONDS, HookJobs
from rukpak_py.controllers.deployment.hooks.runner import HookEnd
from rukpak_py.controllers.deployment.hooks.runs import run_of
from rukpak_py.controllers.deployment.hooks.steps import ExecuteHook
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.controllers.jobs import Jobs
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import NO_CHANGE, Progress
from rukpak_py.core.objects import Object, ObjectKey
from rukpak_py.formats.hook import Hook, HookEvent
from rukpak_py.kube.errors import ForbiddenError
from tests.manifests import config_map
from tests.unit.controllers.deployment.hook_bench import has, is_next_look, is_running, texts
from tests.unit.controllers.deployment.parts import BASKETS, FakeCluster, attempt, basket
from tests.unit.controllers.deployment.test_hook_objects import JOBS
from tests.unit.controllers.fakes import NOW, Clock, FakeClient, refusal
from tests.unit.controllers.values import deployment
from tests.waiting import until

MAP = ObjectKey("", "ConfigMap", "ns", "a")
JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {}}


class Bench:
    def __init__(self) -> None:
        self.client, self.cluster, self.ended = FakeClient(), FakeCluster(), list[str]()
        self.cluster.resources.append(JOBS)
        self.deployments = Cache[BundleDeployment](clock=Clock())
        client = self.client.as_client()
        self.running, self.state = Jobs[HookEnd | None](on_end=self.ended.append), DeploymentState()
        self.jobs = HookJobs(
            client,
            self.cluster.as_cluster(),
            self.deployments,
            DeploymentStatusWriter(client=client, deployments=self.deployments),
            now=lambda: NOW,
            seconds=300.0,
            jobs=self.running,
        )

    async def look(
        self, manifest: dict[str, Any], event: HookEvent = HookEvent.PRE_INSTALL, **spec: Any
    ) -> HookEnd | Progress:
        """One reconcile of a deployment with this spec."""
        of = deployment(**spec)
        self.deployments.put(of)
        hook = Hook(object=Object.from_manifest(manifest), events=frozenset({event}))
        one = attempt(of=of, state=self.state)
        return await self.jobs.end_of(one, run_of(one, event), ExecuteHook(hook=hook))

    async def look_until_ended(self, manifest: dict[str, Any], **more: Any) -> HookEnd | Progress:
        while isinstance(found := await self.look(manifest, **more), Progress) and is_running(found):
            await self._until_one_more_has_ended()
        return found

    async def progress_until_ended(self, manifest: dict[str, Any], **more: Any) -> Progress:
        """Of a hook that has not run."""
        found = await self.look_until_ended(manifest, **more)
        assert isinstance(found, Progress)
        return found

    async def progress(self, manifest: dict[str, Any], **more: Any) -> Progress:
        """Of a hook that runs."""
        found = await self.look(manifest, **more)
        assert isinstance(found, Progress)
        return found

    async def _until_one_more_has_ended(self) -> None:
        before = len(self.ended)
        await until(lambda: len(self.ended) > before)

    @property
    def created(self) -> list[str]:
        return [call for call in self.client.calls if call.startswith("create")]


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    yield bench
    await bench.running.close()


async def test_it_ends_once_and_its_end_is_kept_until_it_is_recorded(bench: Bench) -> None:
    for _ in range(2):
        found = await bench.look(config_map())
        assert isinstance(found, Progress)
        assert texts(found) == ["the pre-install hook ConfigMap ns/a is running"]
        assert has(found, Cause.JOB_RUNNING), "else its end would be counted as another attempt"
    end = await bench.look_until_ended(config_map())
    assert isinstance(end, HookEnd)
    assert end.verdict.succeeded
    assert await bench.look(config_map()) is end, "the write of its record was refused"
    bench.state.hooks.job.recorded()
    assert (bench.created, bench.ended) == (["create ConfigMap a"], ["shop"])


@pytest.mark.parametrize(
    ("event", "spec"),
    [
        (HookEvent.PRE_INSTALL, {"suspend": True}),
        (HookEvent.PRE_INSTALL, {"deletion_timestamp": NOW}),
        (HookEvent.PRE_INSTALL, {"annotations": {SKIP_HOOKS_ANNOTATION: "true"}}),
        (HookEvent.PRE_DELETE, {"deletion_timestamp": NOW, "annotations": {SKIP_HOOKS_ANNOTATION: "true"}}),
        (HookEvent.PRE_DELETE, {}),
    ],
)
async def test_what_nobody_wants_any_more_is_not_created(bench: Bench, event: HookEvent, spec: dict[str, Any]) -> None:
    assert is_next_look(await bench.progress_until_ended(config_map(), event=event, **spec), after=UNWANTED_SECONDS)
    assert bench.created == []


async def test_a_request_that_comes_while_it_runs_is_still_to_be_acted_on(bench: Bench) -> None:
    def asked(value: str) -> dict[str, Any]:
        return {"annotations": {RECONCILE_AT_ANNOTATION: value}}

    found = await bench.progress(JOB, **asked("first"))
    assert has(found, Cause.REQUEST_OPEN), "it is not there yet"
    assert found.change == NO_CHANGE
    await until(lambda: bench.state.hooks.job.begun)
    found = await bench.progress(JOB, **asked("first"))
    assert not has(found, Cause.REQUEST_OPEN)
    hook = found.change.running_hook
    assert isinstance(hook, RunningHook)
    assert (hook.name, hook.reconcile_at) == ("a", "first")
    assert has(await bench.progress(JOB, **asked("second")), Cause.REQUEST_OPEN)


async def test_what_an_older_spec_asked_for_is_not_created(bench: Bench) -> None:
    assert is_running(await bench.progress(config_map()))
    bench.deployments.put(deployment(generation=2, resource_version="2"))
    await until(lambda: bench.ended)
    assert bench.created == []
    newer: dict[str, Any] = {"generation": 2, "resource_version": "2"}
    assert is_next_look(await bench.progress(config_map(), **newer), after=UNWANTED_SECONDS)
    assert isinstance(await bench.look_until_ended(config_map(), **newer), HookEnd)


async def test_a_suspended_deployment_is_deleted_with_its_hooks(bench: Bench) -> None:
    await bench.look_until_ended(config_map(), event=HookEvent.PRE_DELETE, deletion_timestamp=NOW, suspend=True)
    assert bench.created == ["create ConfigMap a"]


async def test_what_could_not_be_run_is_told_and_tried_again(bench: Bench) -> None:
    bench.client.failing["create"] = refusal(ForbiddenError, "exceeded quota")
    (fact,) = (await bench.progress_until_ended(config_map())).facts
    assert fact.text == "pre-install hook: ConfigMap ns/a: exceeded quota"
    assert (fact.cause, fact.wakes) == (Cause.HOOK_NOT_RUN, frozenset({quota_wake("ns")}))
    bench.client.failing.clear()
    assert isinstance(await bench.look_until_ended(config_map()), HookEnd)


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        (FailureKind.CONTENT, Cause.NOT_APPLICABLE),
        (FailureKind.CONFLICT, Cause.CONFLICT),
        (FailureKind.ACCESS, Cause.HOOK_NOT_RUN),
        (FailureKind.UNAVAILABLE, Cause.HOOK_NOT_RUN),
    ],
)
async def test_why_a_hook_could_not_run_decides_when_it_is_tried_again(kind: FailureKind, cause: Cause) -> None:
    fact = hook_not_run(HookEvent.PRE_DELETE, Failure(key=MAP, kind=kind, message="so", retry_after=20.0))
    assert (fact.cause, fact.objects) == (cause, (MAP,))
    assert fact.text == f"pre-delete hook: so; {messages.SKIP_DELETE_HOOKS}"
    assert fact.at is not None
    assert round(fact.at - asyncio.get_running_loop().time()) == 20


async def test_a_kind_that_is_not_there_is_waited_for(bench: Bench) -> None:
    (fact,) = (await bench.progress(basket())).facts
    assert fact.text.startswith("required resource not found: ")
    assert (fact.cause, fact.wakes) == (Cause.KIND_MISSING, kind_wakes([BASKETS.group_kind]))
    assert bench.cluster.refreshes == 1
    bench.cluster.resources.append(BASKETS)
    assert isinstance(await bench.look_until_ended(basket()), HookEnd)


async def test_the_job_of_another_run_ends_when_the_next_begins(bench: Bench) -> None:
    await bench.look(JOB)
    await until(lambda: bench.created)
    await bench.look(config_map(), event=HookEvent.POST_INSTALL)
    await until(lambda: len(bench.ended) == 2)
    await asyncio.sleep(0)
    assert isinstance(await bench.look(config_map(), event=HookEvent.POST_INSTALL), HookEnd)


async def test_nothing_is_begun_for_a_deployment_that_went_meanwhile(bench: Bench) -> None:
    bench.state.has_ended = True
    assert is_running(await bench.progress(config_map()))
    assert len(bench.running) == 0

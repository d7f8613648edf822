"""The hook that is due: one effect for each look, the record before what depends on it, and what a wait ends with."""

import asyncio
from typing import Any

import orjson
import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus
from rukpak_py.api.hook_status import HookRecord, RunningHook
from rukpak_py.api.names import (
    HOOK_LABEL,
    HOOK_RUN_ANNOTATION,
    OWNER_UID_ANNOTATION,
    RECONCILE_AT_ANNOTATION,
    SKIP_HOOKS_ANNOTATION,
)
from rukpak_py.apply.results import Failure, FailureKind, kind_wakes, quota_wake
from rukpak_py.controllers.deployment.hooks import hook_objects
from rukpak_py.controllers.deployment.hooks.facts import STALE_SECONDS, HooksOver, hook_not_run
from rukpak_py.controllers.deployment.hooks.hook_objects import HookWatch
from rukpak_py.controllers.deployment.hooks.runs import run_of
from rukpak_py.controllers.deployment.hooks.stage import UNWANTED_SECONDS, UNWATCHED_SECONDS
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.hook_details import SKIP_DELETE_HOOKS
from rukpak_py.controllers.result.progress import Progress
from rukpak_py.core.objects import GroupVersionKind, ObjectKey
from rukpak_py.formats.hook import DeletePolicy, HookEvent
from rukpak_py.kube.errors import (
    AlreadyExistsError,
    ApiError,
    ForbiddenError,
    NotFoundError,
    ServerUnavailableError,
    StaleError,
)
from rukpak_py.kube.resources import CONFIG_MAPS, Resource
from tests.manifests import config_map
from tests.unit.controllers.deployment.hook_bench import (
    SECONDS,
    HookBench,
    causes,
    has,
    hook,
    is_next_look,
    is_running,
    pause,
    texts,
)
from tests.unit.controllers.deployment.parts import BASKETS, basket
from tests.unit.controllers.deployment.test_hook_objects import JOBS, job
from tests.unit.controllers.fakes import NOW, refusal
from tests.unit.controllers.values import UID, deployment
from tests.unit.kube.fake_api import serving
from tests.unit.kube.test_informer_fallback import END, events
from tests.waiting import until

CLUSTER_ROLES = Resource(
    gvk=GroupVersionKind("rbac.authorization.k8s.io", "v1", "ClusterRole"), plural="clusterroles", namespaced=False
)
MAP = ObjectKey("", "ConfigMap", "ns", "a")
JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {}}
MAP_HOOK, JOB_HOOK = hook(config_map()), hook(JOB)
LATER, TOO_LATE = "2026-01-01T00:02:00Z", "2026-01-01T00:05:00Z"  # two minutes later, and the whole time of a hook


@pytest.fixture
def bench() -> HookBench:
    bench = HookBench()
    bench.has(deployment())
    return bench


def created_by_another_process(
    bench: HookBench, *, run: str = "", labels: dict[str, str] | None = None, **metadata: Any
) -> dict[str, Any]:
    """The Job of this run, or of another one."""
    mark = run or run_of(bench.attempt(), HookEvent.PRE_INSTALL).mark
    annotations = {HOOK_RUN_ANNOTATION: mark, OWNER_UID_ANNOTATION: UID, **metadata.pop("annotations", {})}
    given = {"name": "j", "uid": "of-j", "creationTimestamp": NOW, "annotations": annotations, **metadata}
    return bench.client.put("Job", {**JOB, "metadata": {**given, "labels": labels or {HOOK_LABEL: UID}}})


def recorded(bench: HookBench, **fields: Any) -> RunningHook:
    """Record of a hook by another process."""
    one = run_of(bench.attempt(), HookEvent.PRE_INSTALL)
    found = RunningHook(
        revision=one.revision,
        run=one.mark,
        event=one.event,
        group="batch",
        version="v1",
        kind="Job",
        namespace="ns",
        name="j",
        rendering_digest=one.rendering,
    )
    found = replace(found, **fields)
    bench.has(deployment(status=BundleDeploymentStatus(running_hook=found), resource_version="2"))
    return found


def ended(bench: HookBench) -> HookRecord:
    (record,) = bench.status.hooks
    assert bench.status.running_hook is None
    return record


def effects(bench: HookBench) -> list[str]:
    """Since the last time."""
    found = [call for call in bench.client.calls if not call.startswith("get")]
    bench.client.calls.clear()
    return found


async def test_each_look_at_a_job_has_one_effect_and_its_record_comes_first(bench: HookBench) -> None:
    first = await bench.look(bench.attempt(), JOB_HOOK)
    assert texts(first) == ["the pre-install hook Job.batch/ns/j is running"]
    assert has(first, Cause.JOB_RUNNING), "else its end would be counted as another attempt"
    assert effects(bench) == ["status BundleDeployment shop"], "the next process knows of it"
    assert bench.status.running_hook is not None
    assert (bench.status.running_hook.name, bench.status.running_hook.uid) == ("j", "")
    await bench.look(bench.attempt(), JOB_HOOK)
    assert effects(bench) == ["create Job j", "status BundleDeployment shop"]
    assert bench.status.running_hook.uid == bench.live("Job", "j")["metadata"]["uid"]
    waits = await bench.look(bench.attempt(), JOB_HOOK)
    assert (is_running(waits), pause(waits), effects(bench)) == (True, 300, [])
    bench.live("Job", "j").update(job(("Complete", "True")))
    assert is_next_look(await bench.look(bench.attempt(), JOB_HOOK))
    assert effects(bench) == ["status BundleDeployment shop"]
    assert ended(bench).result == "Succeeded"
    assert await bench.look(bench.attempt(), JOB_HOOK) == HooksOver()
    assert bench.watched == {"Job"}


async def test_hook_that_needs_no_time_is_created_and_recorded_at_the_next_look(bench: HookBench) -> None:
    assert is_running(await bench.look(bench.attempt(), MAP_HOOK))
    assert effects(bench) == ["create ConfigMap a"]
    assert is_next_look(await bench.look(bench.attempt(), MAP_HOOK))
    assert ended(bench).result == "Succeeded"
    assert bench.watched == set(), "nothing of it is waited for"


async def test_end_whose_record_is_refused_is_recorded_at_a_later_look(bench: HookBench) -> None:
    await bench.look(bench.attempt(), MAP_HOOK)
    stored = bench.live("BundleDeployment", "shop")["metadata"]
    version, stored["resourceVersion"] = stored["resourceVersion"], "newer"
    assert is_next_look(await bench.look(bench.attempt(), MAP_HOOK), after=STALE_SECONDS)
    stored["resourceVersion"] = version
    assert await bench.run(MAP_HOOK) == HooksOver()
    assert bench.writes == ["create ConfigMap a"]


async def test_job_is_not_created_before_its_record_is_written(bench: HookBench) -> None:
    stored = bench.live("BundleDeployment", "shop")["metadata"]
    version, stored["resourceVersion"] = stored["resourceVersion"], "newer"
    assert pause(await bench.look(bench.attempt(), JOB_HOOK)) == STALE_SECONDS
    assert bench.writes == []
    stored["resourceVersion"] = version
    assert is_running(await bench.run(JOB_HOOK))
    assert bench.writes == ["create Job j"]


async def test_job_that_another_process_created_is_recorded_with_its_uid_and_waited_for(bench: HookBench) -> None:
    created_by_another_process(bench)
    recorded(bench)
    bench.now = LATER
    found = await bench.run(JOB_HOOK)
    assert (is_running(found), pause(found)) == (True, 180), "what is left of its time"
    assert bench.status.running_hook is not None
    assert bench.status.running_hook.uid == "of-j"
    bench.now = TOO_LATE
    await bench.look(bench.attempt(), JOB_HOOK)
    record = ended(bench)
    assert (record.result, record.message) == ("Failed", "it did not end within 300 s")
    assert (record.started_at, record.finished_at, bench.writes) == (NOW, TOO_LATE, [])


@pytest.mark.parametrize("labels", [{"a": "b"}, {HOOK_LABEL: "uid-of-a-former-deployment"}])
async def test_job_without_the_label_of_its_deployment_is_looked_at_now_and_then(
    bench: HookBench, labels: dict[str, str]
) -> None:
    """No watch brings the key of the deployment back: a former release, or another deployment, has created it."""
    created_by_another_process(bench, labels=labels)
    recorded(bench, uid="of-j")
    assert pause(await bench.look(bench.attempt(), JOB_HOOK)) == UNWATCHED_SECONDS


async def test_kind_of_a_job_is_watched_before_it_is_read(bench: HookBench) -> None:
    bench.client.failing["get"] = refusal(ServerUnavailableError)
    await bench.look(bench.attempt(), JOB_HOOK)
    assert bench.watched == {"Job"}


async def test_clock_of_the_server_does_not_count_for_what_was_just_created(bench: HookBench) -> None:
    slow = hook({**JOB, "metadata": {"name": "j"}})
    await bench.run(slow)
    bench.live("Job", "j")["metadata"]["creationTimestamp"] = "2025-01-01T00:00:00Z"
    assert pause(await bench.look(bench.attempt(), slow)) == 300


async def test_running_job_is_waited_for_while_the_server_does_not_answer(bench: HookBench) -> None:
    """It may end well meanwhile: a server that is back too late still has the last word."""
    await bench.run(JOB_HOOK)
    bench.client.failing["get"] = refusal(ServerUnavailableError)
    found = await bench.look(bench.attempt(), JOB_HOOK)
    assert (causes(found), pause(found)) == ([Cause.HOOK_RUNNING], UNWATCHED_SECONDS)
    bench.client.failing.clear()
    bench.live("Job", "j").update(job(("Complete", "True")))
    assert await bench.run(JOB_HOOK) == HooksOver()


async def test_server_that_does_not_answer_for_the_whole_time_of_a_hook_is_told(bench: HookBench) -> None:
    await bench.run(JOB_HOOK)
    bench.client.failing["get"] = refusal(ServerUnavailableError, "no connection")
    assert is_running(await bench.look(bench.attempt(), JOB_HOOK))
    assert bench.state.hooks.silent_since is not None
    bench.state.hooks.silent_since -= SECONDS
    cause, text = not_run(await bench.look(bench.attempt(), JOB_HOOK))
    assert (cause, "no connection" in text) == (Cause.HOOK_NOT_RUN, True)
    assert bench.status.running_hook is not None
    bench.client.failing.clear()
    assert is_running(await bench.run(JOB_HOOK))
    assert bench.writes == ["create Job j"]
    assert bench.state.hooks.silent_since is None, "the next silence counts from its own beginning"


async def test_refusal_ends_the_silence_of_the_server(bench: HookBench) -> None:
    await bench.run(JOB_HOOK)
    bench.client.failing["get"] = refusal(ServerUnavailableError, "no connection")
    await bench.look(bench.attempt(), JOB_HOOK)
    assert bench.state.hooks.silent_since is not None
    bench.state.hooks.silent_since -= SECONDS
    bench.client.failing["get"] = refusal(ForbiddenError)
    assert not_run(await bench.look(bench.attempt(), JOB_HOOK))[0] is Cause.HOOK_NOT_RUN
    bench.client.failing["get"] = refusal(ServerUnavailableError, "no connection")
    assert is_running(await bench.look(bench.attempt(), JOB_HOOK)), "this silence has just begun"


async def test_hook_deleted_before_its_end_is_seen_has_failed_and_is_not_repeated(bench: HookBench) -> None:
    await bench.run(JOB_HOOK)
    uid = bench.live("Job", "j")["metadata"]["uid"]
    del bench.client.objects["Job", "j"]
    assert causes(await bench.run(JOB_HOOK)) == [Cause.HOOK_FAILED]
    record = ended(bench)
    assert (record.result, record.message, record.uid) == ("Failed", "it was deleted before it ended", uid)
    assert bench.writes == ["create Job j"]


async def test_hook_that_needs_no_time_and_goes_at_once_is_recorded_and_not_created_again(bench: HookBench) -> None:
    await bench.look(bench.attempt(), MAP_HOOK)
    uid = bench.live("ConfigMap", "a")["metadata"]["uid"]
    del bench.client.objects["ConfigMap", "a"]
    stored = bench.live("BundleDeployment", "shop")["metadata"]
    version, stored["resourceVersion"] = stored["resourceVersion"], "newer"
    assert is_next_look(await bench.look(bench.attempt(), MAP_HOOK), after=STALE_SECONDS)
    stored["resourceVersion"] = version
    assert await bench.run(MAP_HOOK) == HooksOver()
    assert (ended(bench).result, ended(bench).uid, bench.writes) == ("Succeeded", uid, ["create ConfigMap a"])


async def test_job_that_goes_before_its_uid_is_recorded_has_failed_and_is_not_created_again(bench: HookBench) -> None:
    await bench.look(bench.attempt(), JOB_HOOK)
    bench.client.failing["status"] = refusal(StaleError)
    assert pause(await bench.look(bench.attempt(), JOB_HOOK)) == STALE_SECONDS
    uid = bench.live("Job", "j")["metadata"]["uid"]
    bench.client.failing.clear()
    del bench.client.objects["Job", "j"]
    assert causes(await bench.run(JOB_HOOK)) == [Cause.HOOK_FAILED]
    assert (ended(bench).message, ended(bench).uid) == ("it was deleted before it ended", uid)
    assert bench.writes == ["create Job j"]


async def test_job_that_goes_after_its_end_was_seen_counts_as_it_ended(bench: HookBench) -> None:
    await bench.run(JOB_HOOK)
    bench.live("Job", "j").update(job(("Complete", "True")))
    bench.client.failing["status"] = refusal(StaleError)
    assert is_next_look(await bench.look(bench.attempt(), JOB_HOOK), after=STALE_SECONDS)
    bench.client.failing.clear()
    del bench.client.objects["Job", "j"]
    assert await bench.run(JOB_HOOK) == HooksOver()
    assert (ended(bench).result, bench.writes) == ("Succeeded", ["create Job j"])


async def test_end_that_a_look_without_hooks_saw_counts_once_the_job_is_gone(bench: HookBench) -> None:
    """While the deployment is suspended, for instance, or its Bundle is not unpacked."""
    await bench.run(JOB_HOOK)
    bench.live("Job", "j").update(job(("Complete", "True")))
    for _ in range(3):
        await bench.remember_end()
    assert bench.client.calls.count("get Job j") == 4, "the look that came to it, and the first that did not"
    del bench.client.objects["Job", "j"]
    assert await bench.run(JOB_HOOK) == HooksOver()
    assert (ended(bench).result, bench.writes) == ("Succeeded", ["create Job j"])


async def test_hook_that_cannot_be_read_beside_a_look_changes_nothing_of_it(bench: HookBench) -> None:
    await bench.remember_end()
    recorded(bench, uid="of-j")
    bench.client.failing["get"] = refusal(ForbiddenError)
    await bench.remember_end()
    assert (effects(bench), bench.watched, bench.state.hooks.known) == ([], {"Job"}, None)


async def test_running_hook_that_is_being_deleted_is_waited_for_until_it_is_gone(bench: HookBench) -> None:
    created_by_another_process(bench, deletionTimestamp=NOW)
    recorded(bench, uid="of-j")
    assert is_running(await bench.run(JOB_HOOK))
    del bench.client.objects["Job", "j"]
    await bench.look(bench.attempt(), JOB_HOOK)
    assert (ended(bench).message, bench.writes) == ("it was deleted before it ended", [])


def asked(value: str) -> dict[str, str]:
    return {RECONCILE_AT_ANNOTATION: value}


async def test_request_that_comes_while_a_hook_runs_is_still_to_be_acted_on(bench: HookBench) -> None:
    assert has(await bench.look(bench.attempt(**asked("first")), JOB_HOOK), Cause.REQUEST_OPEN), "it is not there yet"
    found = await bench.run(JOB_HOOK, annotations=asked("first"))
    assert not has(found, Cause.REQUEST_OPEN)
    assert bench.status.running_hook is not None
    assert bench.status.running_hook.reconcile_at == "first"
    assert has(await bench.run(JOB_HOOK, annotations=asked("second")), Cause.REQUEST_OPEN)
    bench.live("Job", "j").update(job(("Complete", "True")))
    await bench.run(JOB_HOOK, annotations=asked("second"))
    assert ended(bench).reconcile_at == "first", "the one that it was begun with"


async def test_hook_that_needs_no_time_answers_the_latest_request(bench: HookBench) -> None:
    """Else it would be run again for ever, with what needs it."""
    await bench.look(bench.attempt(**asked("first")), MAP_HOOK)
    await bench.run(MAP_HOOK, annotations=asked("second"))
    assert (ended(bench).reconcile_at, bench.writes) == ("second", ["create ConfigMap a"])


@pytest.mark.parametrize(
    ("event", "latest"),
    [
        (HookEvent.PRE_INSTALL, {"suspend": True}),
        (HookEvent.PRE_INSTALL, {"deletion_timestamp": NOW}),
        (HookEvent.PRE_INSTALL, {"annotations": {SKIP_HOOKS_ANNOTATION: "true"}}),
        (HookEvent.PRE_INSTALL, {"generation": 2}),
        (HookEvent.PRE_DELETE, {"deletion_timestamp": NOW, "annotations": {SKIP_HOOKS_ANNOTATION: "true"}}),
        (HookEvent.PRE_DELETE, {}),
    ],
)
async def test_nothing_is_changed_for_a_hook_that_is_not_wanted_any_more(
    bench: HookBench, event: HookEvent, latest: dict[str, Any]
) -> None:
    before = bench.attempt()
    bench.deployments.put(deployment(resource_version="2", **latest))
    for kind in (JOB, config_map()):
        found = await bench.look(before, hook(kind, event=event), event=event)
        assert is_next_look(found, after=UNWANTED_SECONDS)
    assert effects(bench) == []


async def test_nothing_is_begun_for_a_deployment_that_went_meanwhile(bench: HookBench) -> None:
    bench.state.has_ended = True
    assert is_next_look(await bench.look(bench.attempt(), MAP_HOOK), after=UNWANTED_SECONDS)
    assert bench.writes == []


async def test_hooks_of_the_deletion_of_a_suspended_deployment_run(bench: HookBench) -> None:
    bench.has(deployment(deletion_timestamp=NOW, suspend=True, resource_version="2"))
    await bench.run(hook(config_map(), event=HookEvent.PRE_DELETE), event=HookEvent.PRE_DELETE)
    assert bench.writes == ["create ConfigMap a"]


def not_run(found: HooksOver | Progress) -> tuple[Cause, str]:
    (fact,) = found.facts
    return fact.cause, fact.text


async def test_hook_that_quota_refuses_is_told_and_tried_again(bench: HookBench) -> None:
    bench.client.failing["create"] = refusal(ForbiddenError, "exceeded quota")
    found = await bench.run(MAP_HOOK)
    assert not_run(found) == (Cause.HOOK_NOT_RUN, "pre-install hook: ConfigMap ns/a: exceeded quota")
    assert found.facts[0].wakes == frozenset({quota_wake("ns")})
    bench.client.failing.clear()
    assert await bench.run(MAP_HOOK) == HooksOver()


@pytest.mark.parametrize(("verb", "error"), [("get", ForbiddenError), ("create", NotFoundError)])
async def test_hook_that_cannot_be_read_or_created_has_not_run(
    bench: HookBench, verb: str, error: type[ApiError]
) -> None:
    bench.client.failing[verb] = refusal(error)
    cause, text = not_run(await bench.run(JOB_HOOK))
    assert cause is Cause.HOOK_NOT_RUN
    assert text.startswith("pre-install hook: Job.batch/ns/j: ")
    assert bench.status.hooks == ()


async def test_hook_whose_name_is_taken_meanwhile_is_looked_at_again(bench: HookBench) -> None:
    bench.client.failing["create"] = refusal(AlreadyExistsError)
    _, text = not_run(await bench.run(MAP_HOOK))
    assert "ConfigMap ns/a appeared while it was being created" in text


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        (FailureKind.CONTENT, Cause.NOT_APPLICABLE),
        (FailureKind.CONFLICT, Cause.CONFLICT),
        (FailureKind.ACCESS, Cause.HOOK_NOT_RUN),
        (FailureKind.UNAVAILABLE, Cause.HOOK_NOT_RUN),
    ],
)
async def test_reason_why_a_hook_has_not_run_decides_when_it_is_tried_again(kind: FailureKind, cause: Cause) -> None:
    fact = hook_not_run(HookEvent.PRE_DELETE, Failure(key=MAP, kind=kind, message="so", retry_after=20.0))
    assert (fact.cause, fact.objects) == (cause, (MAP,))
    assert fact.text == f"pre-delete hook: so; {SKIP_DELETE_HOOKS}"
    assert fact.at is not None
    assert round(fact.at - asyncio.get_running_loop().time()) == 20


async def test_hook_of_a_kind_that_is_not_served_waits_for_the_kind(bench: HookBench) -> None:
    found = await bench.run(hook(basket()))
    (fact,) = found.facts
    assert fact.text.startswith("required resource not found: ")
    assert (fact.cause, fact.wakes) == (Cause.KIND_MISSING, kind_wakes([BASKETS.group_kind]))
    assert bench.cluster.refreshes == 1
    bench.cluster.resources.append(BASKETS)
    assert await bench.run(hook(basket())) == HooksOver()


# In the place of what is there


async def test_former_run_at_work_ends_before_the_next_begins(bench: HookBench) -> None:
    created_by_another_process(bench, run="another")
    found = await bench.run(JOB_HOOK)
    assert (is_running(found), pause(found), bench.writes) == (True, 300, [])
    bench.live("Job", "j").update(job(("Complete", "True")))
    assert is_running(await bench.run(JOB_HOOK))
    assert bench.writes == ["delete Job j", "create Job j"]
    assert bench.client.propagations == ["Background"], "its Pods have ended"


async def test_former_run_whose_time_is_over_goes_after_its_pods(bench: HookBench) -> None:
    created_by_another_process(bench, run="another")
    bench.now = TOO_LATE
    await bench.run(JOB_HOOK)
    assert bench.writes == ["delete Job j", "create Job j"]
    assert bench.client.propagations == ["Foreground"]


async def test_former_run_whose_deletion_is_refused_as_stale_is_tried_again_after_a_pause(bench: HookBench) -> None:
    """Also an admission webhook may answer 409, and then at each try."""
    created_by_another_process(bench, run="another")
    bench.live("Job", "j").update(job(("Complete", "True")))
    bench.client.failing["delete"] = refusal(StaleError)
    cause, text = not_run(await bench.run(JOB_HOOK))
    assert (cause, bench.writes) == (Cause.HOOK_NOT_RUN, ["delete Job j"])
    assert "Job.batch/ns/j appeared while it was being created" in text


@pytest.mark.parametrize(("finalizers", "held_by"), [(["example.com/hold"], " (finalizer example.com/hold)"), ([], "")])
async def test_former_run_that_stays_after_its_deletion_is_told_with_its_finalizers(
    bench: HookBench, finalizers: list[str], held_by: str
) -> None:
    created_by_another_process(bench, run="another", deletionTimestamp=NOW, finalizers=finalizers)
    bench.now = LATER  # by the clock of the server it is too late
    found = await bench.run(JOB_HOOK)
    assert (is_running(found), pause(found)) == (True, 60)
    uid, since = bench.state.hooks.leaving
    bench.state.hooks.leaving = uid, since - 60
    found = await bench.run(JOB_HOOK)
    text = f"pre-install hook: Job.batch/ns/j, which was left by a former hook, is still being deleted{held_by}"
    assert not_run(found) == (Cause.HOOK_NOT_RUN, text)
    assert found.facts[0].wakes == frozenset({ObjectKey("batch", "Job", "ns", "j")})
    assert bench.writes == []


async def test_cluster_scoped_hook_that_lingers_is_named_and_waited_for_without_a_namespace(bench: HookBench) -> None:
    bench.cluster.resources.append(CLUSTER_ROLES)
    role = {"apiVersion": CLUSTER_ROLES.gvk.api_version, "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": []}
    annotations = {HOOK_RUN_ANNOTATION: "another", OWNER_UID_ANNOTATION: UID}
    going = {"name": "r", "uid": "of-r", "deletionTimestamp": NOW, "annotations": annotations}
    bench.client.put("ClusterRole", {**role, "metadata": going})
    await bench.run(hook(role))
    bench.state.hooks.leaving = "of-r", bench.state.hooks.leaving[1] - 60
    found = await bench.run(hook(role))
    assert "ClusterRole.rbac.authorization.k8s.io/r, which was left by a former hook" in texts(found)[0]
    assert found.facts[0].wakes == frozenset({ObjectKey("rbac.authorization.k8s.io", "ClusterRole", "", "r")})


async def test_former_run_that_the_policy_keeps_is_replaced_only_once_another_client_deletes_it(
    bench: HookBench,
) -> None:
    created_by_another_process(bench, run="another")
    lasting = hook(JOB, DeletePolicy.HOOK_FAILED)
    cause, text = not_run(await bench.run(lasting))
    assert cause is Cause.CONFLICT
    assert "was left by a former hook, and its helm.sh/hook-delete-policy" in text
    bench.live("Job", "j")["metadata"]["deletionTimestamp"] = NOW
    assert is_running(await bench.run(lasting))
    del bench.client.objects["Job", "j"]
    assert is_running(await bench.run(lasting))
    assert bench.writes == ["create Job j"]


async def test_foreign_object_is_named_and_left_alone(bench: HookBench) -> None:
    bench.client.put("ConfigMap", config_map())
    cause, text = not_run(await bench.run(MAP_HOOK))
    assert cause is Cause.CONFLICT
    assert "exists, is not a hook" in text
    assert bench.writes == []


async def test_failed_hook_that_has_succeeded_since_counts_when_it_is_to_run_again(bench: HookBench) -> None:
    await bench.run(JOB_HOOK)
    bench.live("Job", "j").update(job(("Failed", "True")))
    assert causes(await bench.run(JOB_HOOK)) == [Cause.HOOK_FAILED]
    bench.live("Job", "j").update(job(("Complete", "True")))
    await bench.run(JOB_HOOK, annotations=asked("now"))
    record = ended(bench)
    assert (record.result, record.reconcile_at, bench.writes) == ("Succeeded", "now", ["create Job j"])


# The watch


async def test_watch_brings_the_deployment_of_a_hook_back_and_frees_the_name_of_one_that_goes() -> None:
    changed, gone = list[str](), list[ObjectKey]()
    found = {"name": "a", "namespace": "ns", "labels": {HOOK_LABEL: UID}, "resourceVersion": "5"}
    shown, ended = {"metadata": found}, {"metadata": {**found, "resourceVersion": "7"}}
    watched = events(("ADDED", shown), ("BOOKMARK", END), ("MODIFIED", ended), ("DELETED", ended))
    async with serving(watched) as (client, api):
        watch = HookWatch(client, on_change=changed.append, on_gone=gone.append)
        watch.start(CONFIG_MAPS)
        await until(lambda: gone != [])
        await watch.close()
    assert (changed, gone) == ([UID, UID, UID, UID], [MAP])
    assert api.seen[0].query["labelSelector"] == HOOK_LABEL
    assert watch.informers == {}


class FakeInformer:
    def __init__(self, _client: object, resource: Resource, **_: Any) -> None:
        self.resource, self.served, self.is_running = resource, True, False

    def start(self) -> None:
        self.is_running = True

    async def stop(self) -> None:
        self.is_running = False


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> HookWatch:
    monkeypatch.setattr(hook_objects, "Informer", FakeInformer)
    client: Any = None
    return HookWatch(client, on_change=lambda _: None, on_gone=lambda _: None)


async def test_watch_of_a_version_that_is_no_longer_served_is_replaced(watch: HookWatch) -> None:
    other = Resource(gvk=BASKETS.gvk._replace(version="v9"), plural="baskets", namespaced=True)
    watch.start(BASKETS)
    first = watch.informers[BASKETS.group_kind]
    watch.start(other)
    assert watch.informers[BASKETS.group_kind] is first
    first.served = False
    watch.start(other)
    assert watch.informers[BASKETS.group_kind].resource == other
    await watch.close()
    assert (vars(first)["is_running"], watch.informers) == (False, {})


async def test_watch_of_a_kind_that_no_hook_needs_stops(watch: HookWatch) -> None:
    watch.start(BASKETS)
    watch.start(JOBS)
    unused = watch.informers[BASKETS.group_kind]
    await watch.retain({JOBS.group_kind})
    assert (list(watch.informers), vars(unused)["is_running"]) == ([JOBS.group_kind], False)


async def test_kind_of_a_hook_is_needed_until_its_end_is_recorded(bench: HookBench) -> None:
    created_by_another_process(bench, run="another")
    await bench.run(JOB_HOOK)
    assert bench.state.hooks.due_kind == JOBS.group_kind, "the status names no running hook"
    bench.live("Job", "j").update(job(("Complete", "True")))
    await bench.run(JOB_HOOK)
    bench.live("Job", "j").update(job(("Complete", "True")))
    assert await bench.run(JOB_HOOK) == HooksOver()
    assert bench.state.hooks.due_kind is None


async def test_kind_of_a_hook_that_no_look_comes_to_any_more_is_not_needed(bench: HookBench) -> None:
    """The content has changed and has no hooks, for instance, while a hook of another run was in the way."""
    created_by_another_process(bench, run="another")
    await bench.run(JOB_HOOK)
    await bench.remember_end()
    assert bench.state.hooks.due_kind == JOBS.group_kind
    await bench.remember_end()
    assert bench.state.hooks.due_kind is None


def test_deployment_is_found_by_the_label_of_the_object_that_is_sent() -> None:
    bench, of = HookBench(), deployment()
    assert isinstance(of, BundleDeployment)
    bench.has(of)
    asyncio.run(bench.run(MAP_HOOK))
    sent = orjson.loads(orjson.dumps(bench.live("ConfigMap", "a")))
    assert sent["metadata"]["labels"][HOOK_LABEL] == of.metadata.uid


async def test_kind_that_may_not_be_watched_in_all_namespaces_is_never_watched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hook_objects, "Informer", FakeInformer)
    client: Any = None
    watch = HookWatch(
        client, on_change=lambda _: None, on_gone=lambda _: None, unwatched=frozenset({CONFIG_MAPS.group_kind})
    )
    assert not watch.start(CONFIG_MAPS)
    assert watch.start(JOBS)
    assert set(watch.informers) == {JOBS.group_kind}
    await watch.close()

"""How long a hook is waited for, and what comes out when it is not there any more. That it is created once, and only
where it may be, a real API server shows.
"""

import orjson
import pytest

from rukpak_py.api.hook_status import RunningHook
from rukpak_py.controllers.deployment.hooks import runner as module
from rukpak_py.controllers.deployment.hooks.hook_object import HookObject
from rukpak_py.controllers.deployment.hooks.runner import GONE_SECONDS, HookEnd, HookRunner
from rukpak_py.core.errors import ConflictError, UnavailableError
from rukpak_py.kube.errors import ForbiddenError, NotFoundError, ServerUnavailableError
from tests.manifests import config_map
from tests.unit.controllers.deployment.test_hook_objects import JOBS, job, made
from tests.unit.controllers.fakes import Clock, FakeClient, refusal

CREATED, NOW = "2026-01-01T00:00:00Z", "2026-01-01T00:02:00Z"  # two minutes later
JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {}}


class Bench:
    """Time passes only where somebody sleeps; after each sleep `then` happens, once each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock, self.client = Clock(now=0.0), FakeClient()
        monkeypatch.setattr(module, "monotonic", self.clock)
        self.then: list[str] = []
        self.runner = HookRunner(self.client.as_client(), now=lambda: NOW, sleep=self.sleep)
        self.is_wanted = True
        self.begun: list[tuple[str, str]] = []

    async def sleep(self, seconds: float) -> None:
        self.clock.now += seconds
        self.client.failing.clear()
        match self.then.pop(0) if self.then else "":
            case "completes":
                self.client.objects["Job", "a"] |= job(("Complete", "True"))
            case "goes":
                del self.client.objects["Job", "a"]
            case "down":
                self.client.failing["get"] = refusal(ServerUnavailableError)

    def has(self, wanted: HookObject) -> None:
        """Created before."""
        body = orjson.loads(wanted.body)
        body["metadata"]["creationTimestamp"] = CREATED
        self.client.put("Job", body)

    async def run(self, wanted: HookObject) -> HookEnd | None:
        async def begun(uid: str, asked: str) -> None:
            self.begun.append((uid, asked))

        return await self.runner.run(wanted, is_wanted=lambda: self.is_wanted, on_begin=begun)

    @property
    def creates(self) -> int:
        return len([call for call in self.client.calls if call.startswith("create")])


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


def wanted(seconds: float = 300.0) -> HookObject:
    return made(JOB, JOBS, seconds=seconds)


def begun(uid: str) -> RunningHook:
    return RunningHook(revision="r", run="m", event="pre-install", version="v1", kind="Job", name="a", uid=uid)


async def test_it_is_created_and_waited_for_also_while_the_server_does_not_answer(bench: Bench) -> None:
    bench.then = ["", "down", "completes"]
    end = await bench.run(wanted())
    assert end is not None
    assert (end.verdict.succeeded, bench.creates) == (True, 1)


async def test_a_server_that_is_back_too_late_still_has_the_last_word(bench: Bench) -> None:
    bench.then = ["down", "completes"]
    end = await bench.run(wanted(seconds=1.0))
    assert end is not None
    assert end.verdict.succeeded
    assert bench.clock.now > 1.0


async def test_what_this_run_has_begun_is_waited_for_in_what_is_left_of_its_time(bench: Bench) -> None:
    bench.has(wanted())
    end = await bench.run(wanted(seconds=150.0))
    assert end is not None
    assert (end.verdict.succeeded, end.verdict.why) == (False, "it did not end within 150 s")
    assert (end.started_at, end.finished_at) == (CREATED, NOW)
    assert bench.clock.now == pytest.approx(30.0)
    assert bench.creates == 0


async def test_a_job_answers_the_request_that_it_was_begun_with_whatever_is_asked_since(bench: Bench) -> None:
    bench.has(made(JOB, JOBS, asked="first"))
    bench.then = ["completes"]
    end = await bench.run(made(JOB, JOBS, asked="second"))
    assert end is not None
    assert end.asked == "first"
    assert bench.begun == [(end.uid, "first")]


async def test_what_needs_no_time_answers_the_latest_request(bench: Bench) -> None:
    """Else it would be run again for ever, with what needs it."""
    there = made(config_map(), asked="first")
    bench.client.put("ConfigMap", orjson.loads(there.body))
    end = await bench.run(made(config_map(), asked="second"))
    assert end is not None
    assert (end.asked, bench.begun, bench.creates) == ("second", [], 0)


async def test_the_clock_of_the_server_does_not_count_for_what_was_just_created(bench: Bench) -> None:
    bench.then = ["completes"]
    one = made({**JOB, "metadata": {"name": "a", "creationTimestamp": CREATED}}, JOBS, seconds=1.0)
    end = await bench.run(one)
    assert end is not None
    assert end.verdict.succeeded


async def test_what_is_deleted_before_it_ends_has_failed(bench: Bench) -> None:
    bench.then = ["", "goes"]
    end = await bench.run(wanted())
    assert end is not None
    assert (end.verdict.succeeded, end.verdict.why) == (False, "it was deleted before it ended")


async def test_what_is_being_deleted_and_was_begun_is_waited_for_until_it_is_gone(bench: Bench) -> None:
    bench.has(wanted())
    live = bench.client.objects["Job", "a"]["metadata"]
    live["deletionTimestamp"] = NOW
    bench.then = ["", "goes"]
    end = await bench.run(made(JOB, JOBS, begun=begun(live["uid"])))
    assert end is not None
    assert (end.verdict.why, end.uid, bench.creates) == ("it was deleted before it ended", live["uid"], 0)


async def test_nothing_is_created_that_nobody_wants_any_more(bench: Bench) -> None:
    bench.is_wanted = False
    assert await bench.run(wanted()) is None
    bench.has(wanted())
    assert await bench.run(made(JOB, JOBS, mark="another")) is None
    assert bench.creates == 0
    assert ("Job", "a") in bench.client.objects


async def test_what_was_left_and_does_not_go_is_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    async def stays(*_: object, **__: object) -> object:
        return object()

    bench.has(wanted())
    bench.client.objects["Job", "a"]["metadata"]["finalizers"] = ["example.com/hold"]
    monkeypatch.setattr(bench.client, "delete", stays)
    with pytest.raises(UnavailableError) as told:
        await bench.run(made(JOB, JOBS, mark="another"))
    text = "Job.batch/ns/a, which was left by a former hook, does not go: held by example.com/hold"
    assert str(told.value) == text
    assert bench.clock.now >= GONE_SECONDS


async def test_only_what_is_going_already_is_replaced_without_a_policy(bench: Bench) -> None:
    """After another event of the same release."""
    bench.has(wanted())
    another = made(JOB, JOBS, mark="another", policies=[])
    with pytest.raises(ConflictError, match="was left by a former hook, and its helm"):
        await bench.run(another)
    bench.client.objects["Job", "a"]["metadata"]["deletionTimestamp"] = NOW
    bench.then = ["completes"]
    end = await bench.run(another)
    assert end is not None
    assert (end.verdict.succeeded, bench.creates) == (True, 1)


@pytest.mark.parametrize("error", [ForbiddenError, NotFoundError])
async def test_what_cannot_be_created_is_an_error_and_no_result(
    bench: Bench, error: type[ForbiddenError | NotFoundError]
) -> None:
    bench.client.failing["create"] = refusal(error)
    with pytest.raises(error):
        await bench.run(wanted())


async def test_a_failed_hook_that_has_succeeded_since_counts(bench: Bench) -> None:
    bench.has(wanted())
    bench.client.objects["Job", "a"] |= job(("Complete", "True"))
    uid = bench.client.objects["Job", "a"]["metadata"]["uid"]
    end = await bench.run(made(JOB, JOBS, failed_uid=uid))
    assert end is not None
    assert (end.verdict.succeeded, end.uid, bench.creates) == (True, uid, 0)


async def test_a_former_run_that_is_at_work_ends_before_the_next_begins(bench: Bench) -> None:
    bench.has(wanted())
    bench.then = ["", "completes", "completes"]
    end = await bench.run(made(JOB, JOBS, mark="another", seconds=300.0))
    assert end is not None
    assert (end.verdict.succeeded, bench.creates) == (True, 1)
    assert [call for call in bench.client.calls if call.startswith(("delete", "create"))] == [
        "delete Job a",
        "create Job a",
    ]
    assert bench.client.propagations == ["Background"], "its Pods have ended"


async def test_a_former_run_whose_time_is_over_goes_after_its_pods(bench: Bench) -> None:
    bench.has(wanted())
    bench.then = ["", "completes"]
    end = await bench.run(made(JOB, JOBS, mark="another", seconds=100.0))
    assert end is not None
    assert end.verdict.succeeded
    assert bench.client.propagations == ["Foreground"]

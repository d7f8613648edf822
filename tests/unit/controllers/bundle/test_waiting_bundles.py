"""A Bundle whose content a node brings: its job ends, news start another, and its status says who is slow."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from rukpak_py.api.conditions import find_condition
from rukpak_py.api.names import BundlePhase
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import ImageSource
from rukpak_py.controllers.queue import SETTLED
from rukpak_py.controllers.result.cause_table import LASTING_SECONDS
from rukpak_py.controllers.result.conclusion import Clock as Moment
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.sources.source import DirectAnswer, DirectFailure, Waiting
from tests.unit.controllers.bundle.test_bundle_reconcile import (
    ATTEMPT,
    FILES,
    HELD,
    LOOK,
    MOMENT,
    Bench,
    pinned,
    retried,
    under_way,
)
from tests.unit.controllers.values import bundle
from tests.waiting import until

PULL_SECONDS = 60.0  # between two attempts while a node pulls the image
BACK_OFF = 'Back-off pulling image "x"'


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    bench.sources.waiting = Waiting(message=BACK_OFF)
    yield bench
    await bench.reconciler.close()


def condition(bench: Bench, kind: str) -> tuple[str, str, str]:
    found = find_condition(bench.stored.status.conditions, kind)
    assert found is not None
    return found.status, found.reason, found.message


async def test_an_obstacle_of_a_waiting_bundle_is_reported_once(bench: Bench) -> None:
    bench.put(bundle())
    assert await bench.unpack() == retried(PULL_SECONDS)
    assert bench.stored.status.phase == BundlePhase.PENDING
    assert condition(bench, "Unpacked") == ("False", "UnpackPending", BACK_OFF)
    assert condition(bench, "Reconciling") == ("True", "UnpackPending", BACK_OFF)
    await bench.unpack()
    assert bench.client.calls == ["status Bundle b"], "nothing has changed"
    assert bench.events.told == [], "waiting is no transition"


async def test_news_start_another_job(bench: Bench) -> None:
    bench.put(bundle())
    await bench.unpack()
    bench.sources.waiting = None
    bench.reconciler.news("b")
    assert bench.woken == ["b"]
    bench.woken.clear()
    assert await bench.unpack() == SETTLED
    assert bench.stored.status.is_unpacked
    assert bench.sources.settled == ["b"], "after the content is stored and written down"


async def test_news_while_a_job_ends_are_not_lost(bench: Bench) -> None:
    """The job looked before they came, and its end is seen after."""
    bench.put(bundle())
    await bench.reconcile()
    await until(lambda: bench.woken)
    bench.reconciler.news("b")
    bench.sources.waiting = None
    bench.woken.clear()
    assert await bench.reconcile() == retried(PULL_SECONDS)
    assert bench.woken == ["b"]
    bench.woken.clear()
    assert await bench.unpack() == SETTLED
    assert bench.stored.status.is_unpacked


async def test_a_failure_stays_while_there_is_nothing_to_say(bench: Bench) -> None:
    """It is made again and again, and the status does not flicker."""
    bench.put(bundle())
    bench.sources.error = UnavailableError("unpack failed: evicted")
    await bench.unpack()
    bench.sources.error, bench.sources.waiting = None, Waiting()
    await bench.unpack()
    message = "source bundle content: unpack failed: evicted"
    assert condition(bench, "Unpacked") == ("False", "UnpackFailed", message)


async def test_news_do_not_help_wrong_content(bench: Bench) -> None:
    """The end of its pod is news, and would start the next one for ever."""
    image = Source(type="image", image=ImageSource(ref="example.com/a:1"))
    bench.put(replace(bundle(), spec=replace(bundle().spec, source=image)))
    bench.sources.error = ContentError("no manifests")
    assert await bench.unpack() == HELD
    assert bench.sources.settled == ["b"]
    bench.reconciler.news("b")
    assert bench.woken == []
    assert await bench.reconcile(LOOK) == HELD, "those that came before it was known"
    assert len(bench.sources.asked) == 1


async def test_a_pod_that_a_failed_attempt_leaves_is_no_news(bench: Bench) -> None:
    """Its pod starts while the job runs, and ends after it: each would bring the next pod at once."""
    bench.put(bundle())
    bench.sources.error = UnavailableError("unpack failed: evicted")
    await bench.reconcile()
    bench.reconciler.news("b")
    await until(lambda: bench.woken)
    bench.woken.clear()
    assert await bench.reconcile() == retried()
    bench.reconciler.news("b")
    assert bench.woken == []


async def test_pinned_content_that_waits_keeps_its_status(bench: Bench) -> None:
    """A slow pass found it lost; its pod comes and goes on its own."""
    bench.put(pinned())
    bench.reconciler.check_content()
    bench.woken.clear()
    assert await bench.reconcile() == under_way()
    await until(lambda: bench.woken)
    bench.woken.clear()
    assert await bench.reconcile() == retried(PULL_SECONDS)
    assert (bench.client.calls, bench.sources.settled) == ([], []), "its pod is still needed"
    bench.sources.waiting = None
    bench.reconciler.news("b")
    await bench.reconcile()
    await until(lambda: bench.woken.count("b") >= 2)
    assert await bench.reconcile() == SETTLED
    assert bench.content.links == {"b": FILES.digest}
    assert bench.sources.settled == ["b"]


async def test_pinned_content_that_is_requested_is_reported_when_it_waits(bench: Bench) -> None:
    bench.put(pinned())
    bench.reconciler.request_content(pinned())
    await bench.reconcile()
    await until(lambda: len(bench.woken) > 1)
    assert await bench.reconcile() == retried(PULL_SECONDS)
    assert condition(bench, "Unpacked") == ("False", "UnpackPending", BACK_OFF)


async def test_waiting_bundles_do_not_take_turns_without_end(bench: Bench) -> None:
    """Two that are lost wake each other no more than once: the next look at them is a minute later, or their news."""
    one = pinned()
    other = replace(one, metadata=replace(one.metadata, name="c", uid="uid-of-c"))
    for bundle_of in (one, other):
        bench.put(bundle_of)
    bench.reconciler.check_content()
    async with asyncio.timeout(5):
        for _ in range(20):
            await bench.reconcile_woken()
            await asyncio.sleep(0.005)
    assert bench.woken == []
    assert len(bench.sources.asked) <= 4


async def test_news_of_the_pod_of_an_unpacked_bundle_is_looked_at(bench: Bench) -> None:
    """It may be kept, and is created again when it was deleted."""
    bench.sources.waiting = None
    bench.put(bundle())
    await bench.unpack()
    bench.reconciler.news("b")
    assert (bench.woken, bench.looked_at) == ([], ["b"])


async def test_a_bundle_that_is_gone_has_no_news(bench: Bench) -> None:
    bench.put(bundle())
    await bench.unpack()
    bench.bundles.drop("b", "uid-of-b")
    bench.reconciler.news("b")
    assert bench.woken == []


def direct(answer: DirectAnswer = DirectAnswer.NOT_FOUND, brief: str = "404: manifest unknown") -> DirectFailure:
    return DirectFailure(answer=answer, message=f"{brief} (image x)", brief=brief)


def later(bench: Bench, seconds: float) -> None:
    bench.moment = Moment(loop=bench.moment.loop + seconds, wall=bench.moment.wall + seconds)


async def retry(bench: Bench, seconds: float) -> None:
    later(bench, seconds)
    await bench.unpack()


async def test_the_direct_cause_stands_before_what_the_node_says(bench: Bench) -> None:
    bench.sources.waiting = Waiting(message=BACK_OFF, brief="not found", direct=direct())
    bench.put(bundle())
    assert await bench.unpack() == dataclasses.replace(retried(PULL_SECONDS), report_at=MOMENT.loop + LASTING_SECONDS)
    assert condition(bench, "Unpacked") == (
        *("False", "UnpackPending"),
        f"404: manifest unknown (image x) && {BACK_OFF}",
    )
    assert condition(bench, "Ready") == ("Unknown", "UnpackPending", "404: manifest unknown && not found")
    assert bench.events.told == []


async def test_the_direct_cause_is_told_before_the_node_says_anything(bench: Bench) -> None:
    bench.sources.waiting = Waiting(direct=direct())
    bench.put(bundle())
    await bench.unpack()
    assert condition(bench, "Ready") == ("Unknown", "UnpackPending", "404: manifest unknown")


@pytest.mark.parametrize(
    ("answer", "reason"), [(DirectAnswer.NOT_FOUND, "Unavailable"), (DirectAnswer.DENIED, "AccessDenied")]
)
@pytest.mark.parametrize("message", ["", BACK_OFF])
async def test_an_image_that_the_registry_refuses_for_two_minutes_has_failed(
    bench: Bench, answer: DirectAnswer, reason: str, message: str
) -> None:
    """An alert on `Ready=False` fires. No attempt is needed for that: a look says so, on time."""
    bench.sources.waiting = Waiting(message=message, direct=direct(answer))
    bench.put(bundle())
    await bench.unpack()
    later(bench, LASTING_SECONDS - 1)
    look = dataclasses.replace(LOOK, attempt_at=bench.moment.loop + 5)
    await bench.reconcile(look)
    assert condition(bench, "Ready")[0] == "Unknown"
    later(bench, 1)
    assert (await bench.reconcile(look)).attempt_at == look.attempt_at
    assert condition(bench, "Ready") == ("False", reason, "404: manifest unknown")
    assert bench.events.told == [("Warning", "b", "UnpackFailed")]
    assert len(bench.sources.asked) == 1


async def test_a_refused_image_has_failed_on_time_while_another_attempt_runs(bench: Bench) -> None:
    """A registry may take a minute to answer, or not to."""
    bench.sources.waiting = Waiting(message=BACK_OFF, direct=direct())
    bench.put(bundle())
    await bench.unpack()
    bench.sources.gate = asyncio.Event()
    await bench.reconcile()
    later(bench, LASTING_SECONDS)
    assert (await bench.reconcile()).is_under_way
    assert condition(bench, "Ready")[0] == "False"
    bench.sources.gate.set()
    await until(lambda: bench.woken)
    bench.woken.clear()
    await bench.reconcile()
    told, writes = condition(bench, "Ready"), len(bench.client.calls)
    assert told[2].startswith("404: manifest unknown; attempt ")
    for turn in (LOOK, ATTEMPT, LOOK):
        await bench.reconcile(turn)
    assert condition(bench, "Ready") == told, "neither a look nor the next attempt touches the time that it names"
    assert len(bench.client.calls) == writes


async def test_words_that_change_put_nothing_off_and_are_no_news(bench: Bench) -> None:
    """The kubelet has two texts in turns, and some registries number their refusals."""
    bench.put(bundle())
    for number in range(10):
        bench.sources.waiting = Waiting(message=f"text {number % 2}", direct=direct())
        await retry(bench, 14)
    assert condition(bench, "Ready")[0] == "False"
    assert bench.events.told == [("Warning", "b", "UnpackFailed")]
    assert condition(bench, "Unpacked")[2] == "404: manifest unknown (image x) && text 1"


async def test_refusals_with_a_number_count_from_the_first(bench: Bench) -> None:
    bench.put(bundle())
    for number in range(3):
        bench.sources.waiting = Waiting(direct=direct(DirectAnswer.DENIED, f"401: request {number}"))
        await retry(bench, 60)
    assert condition(bench, "Ready")[:2] == ("False", "AccessDenied")


async def test_a_refusal_ends_with_the_content(bench: Bench) -> None:
    """Lost content that is refused later has its two minutes again."""
    bench.sources.waiting = Waiting(message=BACK_OFF, direct=direct())
    bench.put(bundle())
    await bench.unpack()
    later(bench, LASTING_SECONDS)
    bench.sources.waiting = None
    await bench.unpack()
    assert condition(bench, "Ready")[0] == "True"
    await bench.reconcile(LOOK)
    assert condition(bench, "Ready")[0] == "True", "nothing of it is told any more"
    bench.content.stored.clear()
    bench.sources.waiting = Waiting(message=BACK_OFF, direct=direct())
    bench.reconciler.request_content(bench.stored)
    bench.woken.clear()
    await bench.unpack()
    assert condition(bench, "Ready")[0] == "Unknown"


async def test_a_failure_stays_while_the_next_pod_says_nothing(bench: Bench) -> None:
    bench.put(bundle())
    bench.sources.error = UnavailableError("404; unpack failed: evicted")
    await bench.unpack()
    bench.sources.error, bench.sources.waiting = None, Waiting(direct=direct())
    await bench.unpack()
    assert condition(bench, "Unpacked")[:2] == ("False", "UnpackFailed")
    bench.sources.waiting = Waiting(message=BACK_OFF, direct=direct())
    await bench.unpack()
    assert condition(bench, "Unpacked")[:2] == ("False", "UnpackPending")


async def test_a_registry_that_only_nodes_reach_is_no_failure(bench: Bench) -> None:
    bench.sources.waiting = Waiting(message=BACK_OFF, direct=direct(DirectAnswer.UNUSABLE, "r does not answer"))
    bench.put(bundle())
    for _ in range(5):
        await retry(bench, 60)
    assert condition(bench, "Ready") == ("Unknown", "UnpackPending", f"r does not answer && {BACK_OFF}")

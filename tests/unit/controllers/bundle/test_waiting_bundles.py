"""A Bundle whose content somebody else brings: its job ends, news start another, and its status says who is slow."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from rukpak_py.api.conditions import find_condition
from rukpak_py.api.names import BundlePhase
from rukpak_py.api.source import ImageSource, Source
from rukpak_py.controllers.queue import SETTLED
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.sources.source import Waiting
from tests.unit.controllers.bundle.test_bundle_reconcile import FILES, HELD, LOOK, Bench, pinned, retried, under_way
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


async def test_what_holds_it_up_is_told_once(bench: Bench) -> None:
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


async def test_what_a_failed_attempt_leaves_is_no_news(bench: Bench) -> None:
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


async def test_pinned_content_that_somebody_wants_is_told_when_it_waits(bench: Bench) -> None:
    bench.put(pinned())
    bench.reconciler.request_content(pinned())
    await bench.reconcile()
    await until(lambda: len(bench.woken) > 1)
    assert await bench.reconcile() == retried(PULL_SECONDS)
    assert condition(bench, "Unpacked") == ("False", "UnpackPending", BACK_OFF)


async def test_what_waits_does_not_take_turns_without_end(bench: Bench) -> None:
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


async def test_what_happens_to_the_pod_of_an_unpacked_bundle_is_looked_at(bench: Bench) -> None:
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

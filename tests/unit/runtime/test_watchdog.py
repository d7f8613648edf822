"""When a process that runs has to end all the same."""

import asyncio
from dataclasses import replace

import pytest

from rukpak_py.core.errors import UnavailableError
from rukpak_py.kube.resources import BUNDLES, NAMESPACES
from rukpak_py.kube.watching import WatchStatus
from rukpak_py.runtime.watchdog import EtcdRestoredError, Watchdog, WatchdogLimits, refusal_of

LIMITS = WatchdogLimits(absent_seconds=5, refused_seconds=60, idle_seconds=300, beat_seconds=60)
NOW = 1000.0
FINE = WatchStatus(resource=NAMESPACES, reader="informer", active_at=NOW, answered_at=NOW)


@pytest.mark.parametrize(
    ("refused_for", "absent_for", "says"),
    [
        (None, None, None),
        (59, None, None),
        (60, None, "cannot watch namespaces: no right (for 60 s, although the API server answers)"),
        (4, 4, None),
        (5, 5, "the API server does not serve Namespace (v1) any more"),
        (59, 1, None),  # refused for long, and absent for a moment only
    ],
)
def test_a_watch_is_given_up_when_the_server_has_refused_it_for_too_long(
    refused_for: float | None, absent_for: float | None, says: str | None
) -> None:
    status = replace(
        FINE,
        refused_since=None if refused_for is None else NOW - refused_for,
        absent_since=None if absent_for is None else NOW - absent_for,
        refusal="no right",
    )
    text = refusal_of(status, NOW, LIMITS)
    assert text is None if says is None else text is not None and text.startswith(says)


class Bench:
    def __init__(self, *, interval: float = 0.001) -> None:
        self.now = NOW
        self.watches = [FINE]
        self.beats = {"Kopf": NOW}
        self.dog = Watchdog(
            watches=lambda: self.watches,
            heartbeats=lambda: self.beats,
            limits=LIMITS,
            clock=lambda: self.now,
            interval=interval,
        )


@pytest.mark.parametrize(
    ("idle", "beat", "says"),
    [
        (300, 60, None),
        (301, 0, "the watch of namespaces (informer) hangs: nothing happened for 301 s"),
        (0, 61, "Kopf hangs: no heartbeat for 61 s"),
    ],
)
def test_part_that_does_nothing_any_more_hangs(idle: float, beat: float, says: str | None) -> None:
    bench = Bench()
    bench.watches = [replace(FINE, active_at=NOW - idle)]
    bench.beats = {"Kopf": NOW - beat}
    assert bench.dog.hanging() == says


@pytest.mark.parametrize(("silent_for", "gives_up"), [(300, False), (301, True)])
def test_a_watch_that_gets_no_answer_while_others_do_is_given_up(silent_for: float, *, gives_up: bool) -> None:
    """A certificate that only its own connection refuses: everything else of the process works."""
    bench = Bench()
    bench.watches = [FINE, replace(FINE, reader="Kopf", answered_at=NOW - silent_for)]
    text = bench.dog.refused()
    assert (text is not None) == gives_up
    assert text is None or text.startswith("the watch of namespaces (Kopf) gets no answer for 301 s")


def test_watches_that_all_get_no_answer_wait_for_the_server() -> None:
    bench = Bench()
    bench.watches = [replace(FINE, answered_at=NOW - 3000), replace(FINE, reader="Kopf", answered_at=NOW - 3050)]
    assert bench.dog.refused() is None


def test_a_watch_that_may_be_refused_may_not_hang() -> None:
    bench = Bench()
    bench.dog = Watchdog(
        watches=tuple,
        others=lambda: [replace(FINE, refused_since=0, active_at=NOW - 301)],
        heartbeats=dict,
        limits=LIMITS,
        clock=lambda: NOW,
    )
    assert bench.dog.refused() is None
    assert bench.dog.hanging() is not None


async def test_watchdog_ends_the_process_with_the_reason() -> None:
    bench = Bench()
    running = asyncio.create_task(bench.dog.run())
    await asyncio.sleep(0)
    bench.watches = [replace(FINE, refused_since=NOW - 60, refusal="no right")]
    async with asyncio.timeout(5):
        with pytest.raises(UnavailableError, match="cannot watch namespaces: no right"):
            await running


async def test_a_process_that_was_stopped_for_a_while_gives_everybody_time_to_show_life() -> None:
    """SIGSTOP, or a machine that slept: every heartbeat is old, and no part hangs."""
    bench = Bench()
    looks = 0

    def watches() -> list[WatchStatus]:
        nonlocal looks
        looks += 1
        return bench.watches

    bench.dog = Watchdog(
        watches=watches, heartbeats=lambda: bench.beats, limits=LIMITS, clock=lambda: bench.now, interval=0.001
    )
    running = asyncio.create_task(bench.dog.run())
    await asyncio.sleep(0)
    bench.now += 1000  # while the process did not run
    before = looks
    for _ in range(1000):
        if looks > before or running.done():
            break
        bench.watches = [replace(FINE, active_at=bench.now)]  # they show life as soon as they run
        bench.beats = {"Kopf": bench.now}
        await asyncio.sleep(0.001)
    assert not running.done()
    running.cancel()


@pytest.mark.parametrize("told_first", [False, True])
async def test_a_restored_etcd_closes_the_fence_at_once_and_ends_the_process(*, told_first: bool) -> None:
    bench = Bench(interval=60)
    bench.dog.fence()
    if told_first:
        bench.dog.etcd_restored(BUNDLES, 500, 100)
    running = asyncio.create_task(bench.dog.run())
    await asyncio.sleep(0)
    bench.dog.etcd_restored(BUNDLES, 500, 100)
    bench.dog.etcd_restored(NAMESPACES, 400, 100)
    with pytest.raises(EtcdRestoredError):
        bench.dog.fence()
    async with asyncio.timeout(5):
        with pytest.raises(EtcdRestoredError, match="bundles are at version 100, and 500 was seen before"):
            await running

"""However Kopf ends, hung in its own shutdown included, the operator hears of it at once."""

import asyncio
import threading

import kopf
import pytest

from rukpak_py.core.errors import UnavailableError
from rukpak_py.kube.config import Connection
from rukpak_py.kube.seen_versions import SeenVersions
from rukpak_py.operator import kopf_shell
from rukpak_py.operator.kopf_shell import KopfThread
from rukpak_py.operator.kopf_watches import KopfWatches
from tests.waiting import until

PATIENCE = 10.0


def thread() -> KopfThread:
    versions = SeenVersions(on_restore=lambda *_: None)
    watches = KopfWatches([], versions=versions, on_gap=lambda: None, on_handed_over=lambda _: None)
    return KopfThread(Connection(server="http://127.0.0.1:1"), [], watches)


async def fails() -> None:
    raise RuntimeError("a watcher failed")


async def sleeps() -> None:
    await asyncio.Event().wait()


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Kopf's shutdown hangs until this is set; the stop is not waited for."""
    event = threading.Event()
    monkeypatch.setattr(kopf_shell, "STOP_SECONDS", 0.1)

    async def run_tasks(*_: object, **__: object) -> None:
        await asyncio.get_running_loop().run_in_executor(None, event.wait)

    monkeypatch.setattr(kopf, "run_tasks", run_tasks)
    return event


@pytest.mark.parametrize(("ending", "says"), [(fails, "Kopf ended: a watcher failed"), (asyncio.sleep, None)])
async def test_a_root_task_that_ends_is_the_end_although_the_shutdown_hangs(
    monkeypatch: pytest.MonkeyPatch, released: threading.Event, ending: object, says: str | None
) -> None:
    async def spawn_tasks(**_: object) -> list[asyncio.Task[None]]:
        first = asyncio.create_task(fails() if ending is fails else asyncio.sleep(0))
        return [first, asyncio.create_task(sleeps())]

    monkeypatch.setattr(kopf, "spawn_tasks", spawn_tasks)
    try:
        async with asyncio.timeout(PATIENCE):
            if says is None:
                await thread().run()
            else:
                with pytest.raises(UnavailableError, match=says):
                    await thread().run()
    finally:
        released.set()


async def test_a_blocked_loop_of_kopf_shows_in_its_heartbeat(
    monkeypatch: pytest.MonkeyPatch, released: threading.Event
) -> None:
    monkeypatch.setattr(kopf_shell, "BEAT_SECONDS", 0.01)
    blocked = threading.Event()

    async def spawn_tasks(**_: object) -> list[asyncio.Task[None]]:
        await asyncio.sleep(0.05)
        blocked.set()
        released.wait(PATIENCE)  # no coroutine of this loop runs meanwhile
        return [asyncio.create_task(sleeps())]

    monkeypatch.setattr(kopf, "spawn_tasks", spawn_tasks)
    one = thread()
    running = asyncio.create_task(one.run())
    await asyncio.to_thread(blocked.wait, PATIENCE)
    beat = one.last_beat
    await asyncio.sleep(0.1)  # ten beats, if it lived
    assert beat is not None
    assert not has_beaten_since(one, beat)
    released.set()
    await until(lambda: has_beaten_since(one, beat))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def has_beaten_since(one: KopfThread, beat: float) -> bool:
    return one.last_beat is not None and one.last_beat > beat

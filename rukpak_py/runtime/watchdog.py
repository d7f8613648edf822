"""The end of a process that runs and yet does nothing: a part of every replica.

Without its watches an operator is deaf. It would renew its lease for ever, and no other replica could take over. So:

* A kind that the process needs is not served any more, or the server answers and refuses for `refused_seconds`: it ends
  in good order and gives the lease back. The next process waits for what is missing, see `leading`.
* A watch that gets no answer while others do: its own way to the server is broken.
* A watch whose owner does nothing at all, or an event loop without a heartbeat, ends it too, and fails `/healthz`. So
  does a thread pool whose threads all hang (the store on disk, certificates, tokens), while the event loop runs on: a
  call that does nothing goes through the pool every second.
* Etcd was restored from a backup: caches and watches are of a future that did not happen, and acting on them would
  delete what the backup brought back. From that moment `fence` lets no write through; a new process knows the truth.

A server that does not answer is none of these: the leader loses its lease then, and followers wait.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from rukpak_py.core.errors import UnavailableError
from rukpak_py.kube.resources import Resource
from rukpak_py.kube.watching import WatchStatus

INTERVAL = 1.0
LATE_SECONDS = 5.0  # a look that comes so late says that the whole process was stopped, not that a part hangs
BEAT_SECONDS = 1.0
NOT_READY_SECONDS = 15.0


@dataclass(frozen=True, kw_only=True)
class WatchdogLimits:
    absent_seconds: float = 5.0  # an API server that starts answers 404 for a moment
    refused_seconds: float = 60.0
    idle_seconds: float = 300.0  # a watch that is silent for 90 s is opened again, and no wait is longer than that
    beat_seconds: float = 60.0


class EtcdRestoredError(UnavailableError):
    """The caches of this process are of a future that did not happen."""


class Watchdog:
    def __init__(
        self,
        *,
        watches: Callable[[], Iterable[WatchStatus]],
        others: Callable[[], Iterable[WatchStatus]] = tuple,
        heartbeats: Callable[[], Mapping[str, float]],
        limits: WatchdogLimits,
        clock: Callable[[], float] = time.monotonic,
        interval: float = INTERVAL,
    ) -> None:
        """`watches`: those that the process cannot do without. `others`: those that may be refused, but not hang.

        `heartbeats`: when each part last showed life.
        """
        self._watches = watches
        self._others = others
        self._heartbeats = heartbeats
        self._limits = limits
        self._clock = clock
        self._interval = interval
        self._restored: asyncio.Future[None] | None = None
        self._restore = ""

    def etcd_restored(self, resource: Resource, seen: int, listed: int) -> None:
        """A consistent list was older than what this process had seen. Call it in the loop of `run`."""
        if self._restore:
            return
        self._restore = (
            f"etcd was restored from a backup: {resource.plural} are at version {listed}, and {seen} was seen before; "
            "nothing is written any more, and the process ends to begin without caches"
        )
        if self._restored is not None and not self._restored.done():
            self._restored.set_result(None)

    def fence(self) -> None:
        """Raise `EtcdRestoredError` once etcd was restored; see `Client.fenced`."""
        if self._restore:
            raise EtcdRestoredError(self._restore)

    async def run(self) -> None:
        """Run until something is wrong for too long, which is raised."""
        self._restored = asyncio.get_running_loop().create_future()
        last = self._clock()
        while not self._restore:
            await asyncio.wait([self._restored], timeout=self._interval)
            now = self._clock()
            was_late, last = now - last > self._interval + LATE_SECONDS, now
            problem = None if was_late else self.refused() or self.hanging()
            if problem is not None:
                raise UnavailableError(problem)
        raise EtcdRestoredError(self._restore)

    def refused(self) -> str | None:
        """A watch that the server has not granted, or not answered, for too long."""
        now = self._clock()
        watches = list(self._watches())
        found = (
            refusal_of(status, now, self._limits) or unanswered(status, watches, self._limits) for status in watches
        )
        return next((text for text in found if text is not None), None)

    def hanging(self) -> str | None:
        """A watch or a part that does nothing any more."""
        now = self._clock()
        for status in chain(self._watches(), self._others()):
            idle = now - status.active_at
            if idle > self._limits.idle_seconds:
                return (
                    f"the watch of {status.resource.plural} ({status.reader}) hangs: nothing happened for {idle:.0f} s"
                )
        for part, beat in self._heartbeats().items():
            if now - beat > self._limits.beat_seconds:
                return f"{part} hangs: no heartbeat for {now - beat:.0f} s"
        return None


def refusal_of(status: WatchStatus, now: float, limits: WatchdogLimits) -> str | None:
    """Reason why the process cannot go on with this watch; None when it can, or when it is too early to say."""
    if status.absent_since is not None and now - status.absent_since >= limits.absent_seconds:
        return f"{status.problem} any more; the process ends, and the next one waits until it does"
    if status.refused_since is not None and now - status.refused_since >= limits.refused_seconds:
        seconds = f"{now - status.refused_since:.0f} s"
        return f"{status.problem} (for {seconds}, although the API server answers); the process ends"
    return None


def unanswered(status: WatchStatus, watches: Iterable[WatchStatus], limits: WatchdogLimits) -> str | None:
    """Reason why the process cannot go on with a watch that gets no answer: the server answers others."""
    behind = max(other.answered_at for other in watches) - status.answered_at
    if behind <= limits.idle_seconds:
        return None
    return (
        f"the watch of {status.resource.plural} ({status.reader}) gets no answer for {behind:.0f} s, although the API "
        "server answers others; the process ends"
    )


class ThreadPoolMonitor:
    """Whether the threads for what blocks are free; `last_beat` is when a call last went through."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, beat_seconds: float = BEAT_SECONDS) -> None:
        self._clock = clock
        self._beat_seconds = beat_seconds
        self.last_beat = clock()

    async def run(self) -> None:
        while True:
            await asyncio.to_thread(_nothing)
            self.last_beat = self._clock()
            await asyncio.sleep(self._beat_seconds)

    def exhausted(self) -> str | None:
        """Reason for `/readyz` when threads are exhausted."""
        waited = self._clock() - self.last_beat
        return f"no thread has been free for {waited:.0f} s" if waited > NOT_READY_SECONDS else None


def _nothing() -> None:
    """Do nothing, in a thread, to see that it runs."""

"""Leader election by a Lease, with the semantics of Kubernetes' own controllers.

* Clocks of other machines are never compared: a record is stale when *we* have seen it unchanged for the duration
  that it names, by our monotonic clock.
* Every write is a compare-and-swap by resourceVersion.
* A leader that could not renew for `renew_seconds` has lost the lease. That is shorter than the duration and counts
  from when its last successful renewal was *sent*, so it is over before anybody else may start: from that moment
  `fence` lets no write through, whatever the work still tries, and the work is cancelled.
* A replica that could not do the work does not take the lease: `may_lead` is asked before.
* A leader that is asked to end goes on renewing while its work comes to an end, and then releases the lease: the next
  leader need not wait, and never overlaps.
"""

import asyncio
import logging
import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.metrics import IS_LEADER
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import AlreadyExistsError, ApiError, NotFoundError, StaleError
from rukpak_py.kube.resources import LEASES

log = logging.getLogger(__name__)


class LeaseLostError(UnavailableError):
    """Another process holds the lease, or may hold it: this process must end."""


@dataclass(frozen=True, kw_only=True)
class LeaseSettings:
    duration_seconds: float = 15.0
    renew_seconds: float = 10.0
    retry_seconds: float = 2.0

    @property
    def try_seconds(self) -> float:
        """For one renewal: when its connection hangs, there is time for another one on a new connection."""
        return self.renew_seconds / 2

    def __post_init__(self) -> None:
        if not 0 < self.retry_seconds * 1.2 < self.renew_seconds < self.duration_seconds:
            raise ValueError("a lease needs retry x 1.2 < renew deadline < duration")


@dataclass(frozen=True, kw_only=True)
class Holder:
    """The leader as the Lease names it, `<pod>_<address>`: readers of the Lease know where the leader is.

    A container that was restarted in its pod is the same holder, and leads again at once: its former process is dead.
    """

    pod: str
    address: str

    @property
    def identity(self) -> str:
        return f"{self.pod}_{self.address}"

    @classmethod
    def parse(cls, identity: str) -> "Holder | None":
        pod, _, address = identity.rpartition("_")
        return cls(pod=pod, address=address) if pod else None


@dataclass(kw_only=True)
class _Record:
    """The Lease as last seen, and since when we have seen it so."""

    body: dict[str, Any]
    since: float

    @property
    def spec(self) -> dict[str, Any]:
        spec = self.body.get("spec")
        return spec if isinstance(spec, dict) else {}

    @property
    def holder(self) -> str:
        return self.spec.get("holderIdentity") or ""

    @property
    def mark(self) -> tuple[object, ...]:
        return self.holder, self.spec.get("renewTime"), self.spec.get("leaseTransitions")


class LeaderElector:
    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        identity: Holder,
        *,
        settings: LeaseSettings | None = None,
        may_lead: Callable[[], Awaitable[bool]] | None = None,
        on_loss: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`on_loss` is told of a loss before the work is cancelled, so that the work knows why.

        `may_lead` is asked each time that the lease could be taken, and never of the leader.
        """
        self._client = client
        self._namespace = namespace
        self._name = name
        self._identity = identity.identity
        self._settings = settings or LeaseSettings()
        self._clock = clock
        self._may_lead = may_lead
        self._on_loss = on_loss
        self._record: _Record | None = None
        self._ours_until = -math.inf  # by our clock
        self.is_leader = False

    @property
    def holder(self) -> Holder | None:
        """The current leader, as far as is known; followers forward to its address."""
        return Holder.parse(self._record.holder) if self._record else None

    def fence(self) -> None:
        """Raise `LeaseLostError` unless the lease is certainly ours at this moment; see `Client.fenced`."""
        if self._clock() >= self._ours_until:
            raise LeaseLostError(
                f"this process does not hold the lease {self._namespace}/{self._name}; nothing is written"
            )

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lease, then run `lead` for as long as we hold it.

        Returns when `lead` ends by itself; raises `LeaseLostError` after `lead` was cancelled because the lease was
        lost. Cancelling this cancels `lead` once, renews until it has ended, and releases the lease; a lease that is
        lost meanwhile cancels it once more.
        """
        await self._acquire()
        self.is_leader = True
        IS_LEADER.set(1)
        work = asyncio.ensure_future(lead())
        try:
            await self._hold_to_the_end(work)
        except LeaseLostError:
            self._ours_until = -math.inf
            self._on_loss()
            raise
        finally:
            self.is_leader = False
            IS_LEADER.set(0)
            work.cancel()
            await asyncio.wait({work})  # until it has really ended: no other process may begin before
            if not work.cancelled() and work.exception() is not None:
                log.error("the work of the leader ended with %r", work.exception())
            self._ours_until = -math.inf
            await self._release()
        work.result()

    async def _hold_to_the_end(self, work: asyncio.Future[None]) -> None:
        try:
            await self._keep_renewing(work)
        except asyncio.CancelledError:
            work.cancel()
            await self._keep_renewing(work)
            raise

    async def _acquire(self) -> None:
        while True:
            sent = self._clock()
            if await self._attempt(self._settings.renew_seconds):
                log.info("leading as %s", self._identity)
                self._ours_until = sent + self._settings.renew_seconds
                return
            await asyncio.sleep(self._settings.retry_seconds * (1 + 0.2 * random.random()))  # noqa: S311 - jitter

    async def _keep_renewing(self, work: asyncio.Future[None]) -> None:
        """Renew until the work has ended."""
        while not work.done():
            left = self._ours_until - self._clock()
            if left <= 0:
                raise LeaseLostError(f"the lease {self._namespace}/{self._name} could not be renewed in time")
            await asyncio.wait({work}, timeout=min(self._settings.retry_seconds, left))
            if work.done():
                return
            sent = self._clock()
            left = self._ours_until - sent
            if left > 0 and await self._attempt(min(left, self._settings.try_seconds)):
                self._ours_until = sent + self._settings.renew_seconds
            elif self._record is not None and self._record.holder != self._identity:
                raise LeaseLostError(f"the lease {self._namespace}/{self._name} went to {self._record.holder!r}")

    async def _attempt(self, seconds: float) -> bool:
        """Take or renew the lease; False when another process holds it or the API server does not let us."""
        try:
            async with asyncio.timeout(max(seconds, 0.0)):
                return await self._renew() or await self._take()
        except (StaleError, AlreadyExistsError):  # another process was faster
            return False
        except (ApiError, TimeoutError) as error:
            log.warning("the lease %s/%s: %s", self._namespace, self._name, str(error) or "no answer in time")
            return False

    async def _renew(self) -> bool:
        """The leader's short way: write without reading. False when the record is not as we left it."""
        if not self.is_leader or self._record is None:
            return False
        try:
            await self._write(self._record, holder=self._identity)
        except StaleError:  # perhaps our own write, whose answer was lost
            return False
        return True

    async def _take(self) -> bool:
        try:
            self._see(await self._client.get(LEASES, self._namespace, self._name))
        except NotFoundError:
            if not await self._is_able():
                return False
            body = {
                "apiVersion": LEASES.gvk.api_version,
                "kind": LEASES.gvk.kind,
                "metadata": {"name": self._name, "namespace": self._namespace},
                "spec": self._spec({}, holder=self._identity),
            }
            created = await self._client.create(LEASES, self._namespace, orjson.dumps(body))
            self._see(created.json or b"{}")
            return True
        record = self._record
        if record is None or not self._is_free(record) or not await self._is_able():
            return False
        await self._write(record, holder=self._identity)
        return True

    async def _is_able(self) -> bool:
        return self.is_leader or self._may_lead is None or await self._may_lead()

    def _is_free(self, record: _Record) -> bool:
        if self.is_leader:
            return record.holder == self._identity
        if record.holder in {"", self._identity}:
            return True
        duration = max(self._settings.duration_seconds, record.spec.get("leaseDurationSeconds") or 0)
        return self._clock() >= record.since + float(duration)

    def _see(self, body: bytes) -> None:
        record = _Record(body=orjson.loads(body), since=self._clock())
        if self._record is not None and self._record.mark == record.mark:
            record.since = self._record.since
        self._record = record

    async def _write(self, record: _Record, *, holder: str) -> None:
        body = {**record.body, "spec": self._spec(record.spec, holder=holder)}
        written = await self._client.replace(LEASES, self._namespace, self._name, orjson.dumps(body))
        self._see(written.json or b"{}")

    def _spec(self, before: dict[str, Any], *, holder: str) -> dict[str, Any]:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")  # for people; never compared with a clock
        changed = before.get("holderIdentity") != holder
        spec = {
            **before,
            "holderIdentity": holder,
            "leaseDurationSeconds": max(1, round(self._settings.duration_seconds)) if holder else 1,
            "renewTime": now,
            "leaseTransitions": before.get("leaseTransitions") or 0,
        }
        if holder and changed:
            spec |= {"acquireTime": now, "leaseTransitions": spec["leaseTransitions"] + (1 if before else 0)}
        return spec

    async def _release(self) -> None:
        """Let the next leader begin at once. Best effort: if it fails, the lease runs out."""
        record = self._record
        if record is None or record.holder != self._identity:
            return
        try:
            async with asyncio.timeout(self._settings.retry_seconds):
                try:
                    await self._write(record, holder="")
                except StaleError:  # an answer that was lost, or a restored etcd: it may be ours all the same
                    self._see(await self._client.get(LEASES, self._namespace, self._name))
                    if self._record is not None and self._record.holder == self._identity:
                        await self._write(self._record, holder="")
        except (ApiError, TimeoutError) as error:
            log.warning(
                "the lease %s/%s could not be released: %s",
                self._namespace,
                self._name,
                str(error) or "no answer in time",
            )

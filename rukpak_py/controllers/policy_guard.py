"""Proof that the admission policies of identities are in force: without it, no account is impersonated.

A check reads each policy and binding and compares its whole spec with what this operator would ship: one that differs
in a single field may let everything through. Then it tries to create an object, in a dry run, that the policies refuse
to every user; their answer carries their revision, so the API server that answered enforces them. A spec alone is no
proof: the admission plugin may be off.

* Nothing is asked before a deployment needs an answer. From then on a watch tells of changes, and a check every minute
  of what no watch shows.
* `uid` and `generation` of policies and bindings are the identity of what stands: while it is the same, there was no
  gap. A gap that this process has seen, and another identity, begin another era.
* How long they have stood follows from times of the API server alone: when the newest of them was created or changed,
  and the date of an answer.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import NamedTuple

from rukpak_py.api.policies.document import Document
from rukpak_py.api.policies.installation import Installation, probes
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import ObjectKey, canonical_json
from rukpak_py.kube.admission_policies import policy_key, policy_resource, probe_problem, stored_policy
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ErrorAnswer, ForbiddenError, UnprovenIdentityError
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject, Metadata
from rukpak_py.kube.pace import Backoff
from rukpak_py.kube.seen_versions import OnRestore

LOG = logging.getLogger(__name__)
SETTLE_SECONDS = 5.0  # every API server has taken a change up by then: each looks once a second
CHECK_SECONDS = 60.0  # between two checks of what no watch shows
STALE_SECONDS = 5 * CHECK_SECONDS  # after a check: the checks have stopped, or fail
RETRY_SECONDS = 1.0  # after one that got no answer, or found what is stored and not enforced; then twice as long


class Era(NamedTuple):
    """A time without a gap."""

    identity: str  # digest of uids and generations
    number: int  # 0: this process has seen no gap


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Result of one check. Times are those of the loop, but for `changed`."""

    began: float  # before its first request
    era: Era
    since: float  # they stand unchanged from then on
    changed: float  # the same by the clock of the API server, in seconds
    problems: tuple[str, ...] = ()
    is_stored: bool = True  # as shipped; each API server takes a change up within a second

    @property
    def is_in_force(self) -> bool:
        return not self.problems

    @property
    def settles_at(self) -> float:
        return self.since + SETTLE_SECONDS


class PolicyGuard:
    def __init__(
        self,
        client: Client,
        installation: Installation,
        *,
        is_needed: Callable[[], bool],
        on_change: Callable[[], None],
        on_restore: OnRestore | None = None,
    ) -> None:
        """`is_needed`: some deployment has an account. `on_change`: the policies came into force, or went out of it."""
        self._client = client
        self._installation = installation
        self._documents = {policy_key(one): one for one in installation.guards()}
        self._is_needed = is_needed
        self._on_change = on_change
        self._latest: Standing | None = None  # None: never asked, or in doubt
        self._former: Standing | None = None  # the last result, in doubt or not
        self._heads: dict[ObjectKey, tuple[str, int]] = {}  # uid and generation at the last check
        self._doubted = float("-inf")
        self._gaps = 0
        self._lock = asyncio.Lock()
        self._recheck = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.informers = tuple(  # by name: the operator may have no right to see others
            Informer(
                client,
                policy_resource(one),
                field_selector=f"metadata.name={key.name}",
                on_change=self._changed,
                on_restore=on_restore,
            )
            for key, one in self._documents.items()
        )

    @property
    def latest(self) -> Standing | None:
        """None: it is not known at the moment."""
        return self._latest

    def demand(self) -> None:
        """Raise unless the policies are in force, as a check has shown lately; see `Client.acting_as`."""
        latest = self._latest
        if latest is None or not latest.is_in_force or _now() > latest.began + STALE_SECONDS:
            message = "it is not known whether the admission policies are in force: no account is impersonated"
            raise UnprovenIdentityError(ErrorAnswer(subject="impersonate", message=message))

    async def standing(self, *, after: float) -> Standing:
        """Result of a check that began after that time of the loop. ApiError: there is none at the moment."""
        async with self._lock:
            while self._latest is None or self._latest.began < after:
                await self._check()
            self._start()
            return self._latest

    async def close(self) -> None:
        if self._task is None:
            return
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        for informer in self.informers:
            await informer.stop()

    def _start(self) -> None:
        """Watch from the first check on: what the watch shows at its beginning is known then."""
        if self._task is None:
            for informer in self.informers:
                informer.start()
            self._task = asyncio.create_task(self._run(), name="policy guard")

    async def _run(self) -> None:
        for informer in self.informers:  # one that may not watch leaves the check of every minute
            with suppress(TimeoutError):
                async with asyncio.timeout(CHECK_SECONDS):
                    await informer.wait_synced()
        are_synced = all(informer.synced.is_set() for informer in self.informers)
        if are_synced and any(all(one.get(key) is None for one in self.informers) for key in self._documents):
            self._doubt()  # it went after the check, and before the watch began
        pause = Backoff(first=RETRY_SECONDS, limit=CHECK_SECONDS)
        while True:
            is_open = self._latest is None or (not self._latest.is_in_force and self._latest.is_stored)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause.next() if is_open else CHECK_SECONDS):
                    await self._recheck.wait()
                pause.reset()
            self._recheck.clear()
            if not self._is_needed():
                continue
            try:
                await self.standing(after=_now())
            except RukPakError as error:
                LOG.warning("cannot see whether the admission policies are in force: %s", error)

    def _changed(self, key: ObjectKey, _old: LiveObject | None, new: LiveObject | None) -> None:
        if key not in self._documents:
            return
        if new is None or self._heads.get(key) != (new.metadata.uid, new.metadata.generation):
            self._doubt()

    def _doubt(self) -> None:
        self._latest, self._doubted = None, _now()
        self._recheck.set()

    async def _check(self) -> None:
        began = _now()
        found = await asyncio.gather(*map(self._read, self._documents.values()))
        problems = tuple(one for one in found if isinstance(one, str))
        heads = {key: one for key, one in zip(self._documents, found, strict=True) if isinstance(one, Metadata)}
        self._heads = {key: (one.uid, one.generation) for key, one in heads.items()}
        is_stored = not problems
        if is_stored:
            problems = tuple(one for one in await asyncio.gather(*map(self._probed, probes())) if one)
        if problems:
            standing = self._broken(began, problems, is_stored=is_stored)
        else:
            standing = await self._whole(began, heads)
        former, self._former = self._former, standing
        self._latest = standing if self._doubted < began else None
        if former is None or former.era != standing.era:
            self._tell(standing, is_news=former is not None)

    def _broken(self, began: float, problems: tuple[str, ...], *, is_stored: bool) -> Standing:
        if self._former is None or self._former.is_in_force:
            self._gaps += 1
        era = Era("", self._gaps)
        return Standing(began=began, era=era, since=began, changed=0.0, problems=problems, is_stored=is_stored)

    async def _whole(self, began: float, heads: dict[ObjectKey, Metadata]) -> Standing:
        former, identity = self._former, hashlib.sha256(canonical_json(sorted(self._heads.values()))).hexdigest()
        if former is not None and former.era == Era(identity, self._gaps):
            return Standing(began=began, era=former.era, since=former.since, changed=former.changed)
        now = await server_time(self._client)
        answered = _now()  # not `began`: slow answers would make the policies older than they are
        if former is None:
            changed = max(last_change(one, now) for one in heads.values())
            since = answered - max(now - changed, 0.0) if isfinite(now) else answered  # else they may be new
            return Standing(began=began, era=Era(identity, self._gaps), since=since, changed=changed)
        self._gaps += former.is_in_force  # they were made again, or changed and changed back
        return Standing(began=began, era=Era(identity, self._gaps), since=answered, changed=now)

    def _tell(self, standing: Standing, *, is_news: bool) -> None:
        if standing.is_in_force:
            LOG.info("the admission policies that guard identities are in force")
        else:
            LOG.warning("the admission policies are not in force: %s", "; ".join(standing.problems))
        if is_news:
            self._on_change()

    async def _read(self, document: Document) -> Metadata | str:
        """Metadata of one that is as it should be, else a sentence about what is wrong."""
        try:
            return await stored_policy(self._client, document)
        except ForbiddenError as error:
            return f"{policy_key(document)} cannot be read: {error.message}"

    async def _probed(self, probe: Document) -> str:
        """Empty: the policies refused it."""
        return await probe_problem(self._client, self._installation, probe)


async def server_time(client: Client) -> float:
    answer = await client.raw_get("/version")
    try:
        return parsedate_to_datetime(answer.headers.get("Date", "")).timestamp()
    except ValueError:
        return float("inf")  # nothing is known to be newer


def last_change(metadata: Metadata, unknown: float) -> float:
    """Time of the last change of the spec, or a later one: the server writes these. `unknown`: where it is lost."""
    created = _seconds(metadata.creation_timestamp)
    if metadata.generation == 1:
        return created if created is not None else unknown
    times = [_seconds(one.time) for one in metadata.managed_fields]
    return max((one for one in times if one is not None), default=unknown)


def _seconds(time: str | None) -> float | None:
    return datetime.fromisoformat(time).timestamp() if time else None


def _now() -> float:
    return asyncio.get_running_loop().time()

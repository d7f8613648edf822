"""Proof that the admission policies have judged what a deployment says: else any user could have written it.

A state (generation, and a digest of the metadata, for which the generation stands still) is judged when

* the status says that it was, or that another one was and there was no gap since: the policies are the same objects in
  the same generation. The record outlives this process, and users cannot write it while the policies are in force;
* the object was created after the policies had last changed, by the clock of the API server;
* this process has read another state of it since the policies stand: it was written again;
* it named its first account, by an event, when the policies had been standing for longer than any watch lags behind.

Each counts only with a check of the policies after the object was read. A record names the policies once they have
stood for a few seconds, so that all API servers had taken them up. One that was found without policies is marked: then
neither its creation nor the absence of a gap proves anything, also in the next process.
"""

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

import msgspec
from msgspec import UNSET, UnsetType

from rukpak_py.api.bundle_deployment import Judged
from rukpak_py.api.metadata import ObjectMeta, OwnerReference
from rukpak_py.controllers.policy_guard import SETTLE_SECONDS, Era, PolicyGuard, Standing
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.policy_details import NOT_JUDGED, SETTLING, PoliciesMissing
from rukpak_py.controllers.result.progress import Fact, Progress, StatusChange
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.metadata import Metadata
from rukpak_py.kube.resources import Resource

LAG_SECONDS = 120.0  # a watch that is silent for 90 s is opened again
UNKNOWN = ""  # identity of policies in a record: there was a gap since


class State(NamedTuple):
    """Everything of an object that the policies judge."""

    generation: int
    metadata: str


class Read(NamedTuple):
    """A state as the API server had it in an era."""

    era: Era
    edit: str
    state: State
    version: int


@dataclass(slots=True)
class Memory:
    """Memory of this process about one object."""

    seen: tuple[State, float] | None = None  # the latest state, and when it was first looked at
    was_free: bool = False  # it was seen without an account before that
    judged: tuple[Era, State] | None = None
    lasts: Era | None = None  # the era in which whatever follows is judged too
    read: Read | None = None  # a state that is not judged, or not known to be the last one


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """`fact`: nothing may be done for the object, for this reason. `judged`: what the status should say of it.

    `look_at`: time of the loop at which there is more to say.
    """

    fact: Fact | None = None
    judged: Judged | UnsetType | None = UNSET
    look_at: float | None = None

    @property
    def progress(self) -> Progress:
        """All of it but the fact."""
        facts = (Fact(cause=Cause.LOOK_AGAIN, at=self.look_at),) if self.look_at is not None else ()
        return Progress(facts=facts, change=StatusChange(judged=self.judged))


NO_VERDICT = Verdict()
UNDECIDED = Verdict(fact=Fact(cause=Cause.NOT_DUE))


class JudgedObject(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...


def state_of(metadata: ObjectMeta | Metadata) -> State:
    return State(
        metadata.generation,
        metadata_digest(
            metadata.labels, metadata.annotations, list(metadata.owner_references), list(metadata.finalizers)
        ),
    )


def metadata_digest(
    labels: dict[str, str], annotations: dict[str, str], owners: list[OwnerReference], finalizers: list[str]
) -> str:
    """It stands in the status, so its form lasts."""
    form = ["v1", labels, annotations, msgspec.to_builtins(owners), finalizers]
    return hashlib.sha256(canonical_json(form)).hexdigest()


def edit_of(metadata: ObjectMeta | Metadata) -> str:
    """Digest of all that only users change, and so of a write that the policies have judged.

    They let the garbage collector change owner references and finalizers.
    """
    form = [metadata.generation, metadata.labels, metadata.annotations]
    return hashlib.sha256(canonical_json(form)).hexdigest()


def is_recorded(judged: Judged | None, seen: State) -> bool:
    return judged is not None and (judged.generation, judged.metadata) == seen


def is_uninterrupted(judged: Judged | None, era: Era) -> bool:
    """Whether there was no gap since another state was judged, as far as this process and its predecessors know."""
    return judged is not None and era.number == 0 and judged.policies == era.identity


def is_created_since(judged: Judged | None, created: str | None, standing: Standing) -> bool:
    """Times of the API server have no fractions of seconds."""
    if judged is not None or not created:
        return False
    return datetime.fromisoformat(created).timestamp() >= standing.changed + SETTLE_SECONDS + 1


def is_written_since(read: Read | None, edit: str, version: int, era: Era) -> bool:
    return read is not None and read.era == era and read.edit != edit and version > read.version


def with_gap(judged: Judged | None) -> Judged:
    """Record after which neither creation nor the absence of a gap proves anything."""
    return msgspec.structs.replace(judged or Judged(generation=0, metadata=""), policies=UNKNOWN)


class Judging:
    def __init__(self, client: Client, guard: PolicyGuard, *, clock: Callable[[], float] | None = None) -> None:
        self._client = client
        self._guard = guard
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._memories: dict[str, Memory] = {}  # by uid

    def forget(self, uid: str) -> None:
        self._memories.pop(uid, None)

    def is_free(self, obj: JudgedObject) -> None:
        """It has no account, and never had one: it needs no proof."""
        self._memories.setdefault(obj.metadata.uid, Memory()).was_free = True

    async def judge(
        self, resource: Resource, obj: JudgedObject, judged: Judged | None, *, has_account: bool
    ) -> Verdict:
        """`judged`: as its status says. ApiError: nothing is known at the moment, and nothing may be done."""
        metadata, now = obj.metadata, self._clock()
        seen, memory = state_of(metadata), self._memories.setdefault(metadata.uid, Memory())
        if memory.seen is None or memory.seen[0] != seen:
            memory.seen = seen, now
        standing = self._guard.latest
        if standing is None or memory.judged != (standing.era, seen):
            standing = await self._guard.standing(after=now)  # after the object was read
        if not standing.is_in_force:
            detail = PoliciesMissing(problems=standing.problems)
            fact = Fact(cause=Cause.POLICY_MISSING, detail=detail)
            return Verdict(fact=fact, judged=_unless(with_gap(judged), judged))
        if memory.judged != (standing.era, seen) and not self._is_judged(memory, metadata, judged, standing):
            return await self._not_judged(resource, metadata, memory, judged, standing)
        memory.judged = standing.era, seen
        look_at = None
        if memory.lasts != standing.era:
            look_at = await self._last(resource, metadata, memory, standing)
        if not has_account and memory.lasts == standing.era:
            return Verdict(judged=_unless(None, judged))
        if memory.lasts != standing.era:
            return Verdict(look_at=look_at)  # the status says already that this state was judged
        record = Judged(generation=seen.generation, metadata=seen.metadata, policies=standing.era.identity)
        return Verdict(judged=_unless(record, judged))

    def _is_judged(self, memory: Memory, metadata: ObjectMeta, judged: Judged | None, standing: Standing) -> bool:
        assert memory.seen is not None  # noqa: S101 - set by the caller
        (seen, first), era = memory.seen, standing.era
        version = int(metadata.resource_version or 0)
        stood_when_it_came = standing.settles_at + LAG_SECONDS <= first
        proves_all = (
            memory.lasts == era
            or is_uninterrupted(judged, era)
            or is_created_since(judged, metadata.creation_timestamp, standing)
            or is_written_since(memory.read, edit_of(metadata), version, era)
            or (memory.was_free and stood_when_it_came)
        )
        if proves_all:
            memory.lasts = era
        return proves_all or is_recorded(judged, seen)

    async def _last(self, resource: Resource, metadata: ObjectMeta, memory: Memory, standing: Standing) -> float | None:
        """See whether the state that is judged is still the last one, once each API server enforces the policies."""
        if self._clock() < standing.settles_at:
            return standing.settles_at
        read = await self._read(resource, metadata, standing)
        if read is not None and memory.judged == (standing.era, read.state):
            memory.lasts = standing.era
        return None  # else an event is on its way

    async def _not_judged(
        self, resource: Resource, metadata: ObjectMeta, memory: Memory, judged: Judged | None, standing: Standing
    ) -> Verdict:
        if self._clock() < standing.settles_at:
            fact = Fact(cause=Cause.POLICY_MISSING, detail=SETTLING)
            return Verdict(fact=fact, judged=_unless(with_gap(judged), judged), look_at=standing.settles_at)
        if memory.read is None or memory.read.era != standing.era:
            memory.read = await self._read(resource, metadata, standing)
        return Verdict(fact=Fact(cause=Cause.NOT_JUDGED, detail=NOT_JUDGED), judged=_unless(with_gap(judged), judged))

    async def _read(self, resource: Resource, metadata: ObjectMeta, standing: Standing) -> Read | None:
        """None: the object is gone, and an event will say so."""
        try:
            live = await self._client.get_metadata(resource, "", metadata.name)
        except NotFoundError:
            return None
        return Read(standing.era, edit_of(live), state_of(live), live.version) if live.uid == metadata.uid else None


def _unless(record: Judged | None, judged: Judged | None) -> Judged | UnsetType | None:
    """Nothing to write where the status says so already."""
    return UNSET if record == judged else record

"""Proof that the admission policies have judged what a deployment says: else any user could have written it.

A state (generation, and a digest of the metadata, for which the generation stands still) is judged when

* the status says that it was, or that another one was and there was no gap since: the policies are the same objects in
  the same generation. The record outlives this process. Its proof takes the key of the installation: while the policies
  are gone, users may write any status;
* the object was created after the policies had last changed, by the clock of the API server;
* this process has read another state of it since the policies stand: it was written again. The operator's own writes
  of the BundleDeployment of a BundleInstance do not count: they leave there what others wrote;
* it named its first account when the policies had been standing for longer than any watch lags behind;
* the status says that its metadata was, and its spec is that of its BundleInstance, which is judged.

Each counts only with a check of the policies after the object was read. A record names the policies once they have
stood for a few seconds, so that all API servers had taken them up. One that was found without policies is marked: then
neither its creation nor the absence of a gap proves anything, also in the next process.
"""

import asyncio
import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

import msgspec
from msgspec import UNSET, UnsetType

from rukpak_py.api.bundle_deployment import Judged
from rukpak_py.api.metadata import ObjectMeta, OwnerReference
from rukpak_py.api.names import (
    BUNDLE_INSTANCE_KIND,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
    RECONCILE_AT_ANNOTATION,
    REFRESH_AT_ANNOTATION,
)
from rukpak_py.controllers.policy_guard import SETTLE_SECONDS, Era, PolicyGuard, Standing
from rukpak_py.controllers.ports import DigestKeys
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.policy_details import (
    MIRROR_NOT_JUDGED,
    NOT_JUDGED,
    SETTLING,
    PoliciesMissing,
)
from rukpak_py.controllers.result.progress import Fact, Progress, StatusChange
from rukpak_py.core.keyed_digests import DigestKey
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.metadata import Metadata
from rukpak_py.kube.resources import Resource

LAG_SECONDS = 120.0  # a watch that is silent for 90 s is opened again
UNKNOWN = ""  # identity of policies in a record: there was a gap since
MIRRORED_LABELS = (OWNER_KIND_LABEL, OWNER_NAME_LABEL)  # of a BundleInstance, in its BundleDeployment
MIRRORED_ANNOTATIONS = (RECONCILE_AT_ANNOTATION, REFRESH_AT_ANNOTATION)


class State(NamedTuple):
    """Everything of an object that the policies judge."""

    generation: int
    metadata: str


class Edit(NamedTuple):
    """Digests of all that only users change, and so of a write that the policies have judged.

    They let the garbage collector change owner references and finalizers, and the operator what it mirrors.
    """

    beside_mirror: str
    everything: str
    is_mirror: bool

    def is_another(self, former: "Edit") -> bool:
        if self.is_mirror or former.is_mirror:
            return self.beside_mirror != former.beside_mirror
        return self.everything != former.everything


class Read(NamedTuple):
    """A state as the API server had it in an era."""

    era: Era
    edit: Edit
    state: State
    version: int


@dataclass(slots=True)
class Memory:
    """Memory of this process about one object."""

    is_free: bool = False  # it was without an account when an event last told of it, or it was last looked at
    named_at: float | None = None  # time at which it was first seen with an account after that
    is_asked: bool = False  # a proof is needed, whatever its status says
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
    return _digest(["v1", labels, annotations, msgspec.to_builtins(owners), finalizers])


def edit_of(metadata: ObjectMeta | Metadata) -> Edit:
    labels, annotations = metadata.labels, metadata.annotations
    controller = metadata.controller
    return Edit(
        beside_mirror=_digest([_without(labels, MIRRORED_LABELS), _without(annotations, MIRRORED_ANNOTATIONS)]),
        everything=_digest([metadata.generation, labels, annotations]),
        is_mirror=BUNDLE_INSTANCE_KIND in {labels.get(OWNER_KIND_LABEL), controller.kind if controller else None},
    )


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


def is_written_since(read: Read | None, edit: Edit, version: int, era: Era) -> bool:
    return read is not None and read.era == era and version > read.version and edit.is_another(read.edit)


def is_named_since(named_at: float | None, standing: Standing) -> bool:
    return named_at is not None and standing.settles_at + LAG_SECONDS <= named_at


def with_gap(judged: Judged | None) -> Judged:
    """Record after which neither creation nor the absence of a gap proves anything."""
    return msgspec.structs.replace(judged or Judged(generation=0, metadata=""), policies=UNKNOWN)


def with_proof(judged: Judged, uid: str, key: DigestKey) -> Judged:
    """The record as this operator alone can write it, for this object alone. The form lasts."""
    form = ["v1", uid, judged.generation, judged.metadata, judged.policies]
    return msgspec.structs.replace(judged, proof=key.digest(canonical_json(form)))


def recognised(judged: Judged | None, uid: str, key: DigestKey) -> Judged | None:
    """Nothing of a record that another user wrote, or that was made with a key that is lost, but that there was one."""
    if judged is None:
        return None
    is_ours = hmac.compare_digest(with_proof(judged, uid, key).proof, judged.proof)
    return judged if is_ours else with_gap(None)


class Judging:
    def __init__(
        self, client: Client, guard: PolicyGuard, keys: DigestKeys, *, clock: Callable[[], float] | None = None
    ) -> None:
        self._client = client
        self._guard = guard
        self._keys = keys
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._memories: dict[str, Memory] = {}  # by uid

    def forget(self, uid: str) -> None:
        self._memories.pop(uid, None)

    def is_asked(self, uid: str) -> bool:
        """Whether a proof was needed before, and no verdict has ended that: who cleared the status may not be ours."""
        memory = self._memories.get(uid)
        return memory is not None and memory.is_asked

    def noticed(self, uid: str, *, is_free: bool) -> None:
        """An event tells of the object, or it is looked at. `is_free`: without an account, now and before."""
        if is_free:
            self._memories.setdefault(uid, Memory()).is_free = True
        elif (memory := self._memories.get(uid)) is not None and memory.is_free:
            memory.is_free, memory.named_at = False, self._clock()

    async def judge(
        self,
        resource: Resource,
        obj: JudgedObject,
        judged: Judged | None,
        *,
        has_account: bool,
        mirrored: ObjectMeta | None = None,
    ) -> Verdict:
        """`judged`: as its status says. `mirrored`: metadata of its BundleInstance, where that has the same spec.

        RukPakError: nothing is known at the moment, and nothing may be done.
        """
        metadata, now = obj.metadata, self._clock()
        seen, memory = state_of(metadata), self._memories.setdefault(metadata.uid, Memory())
        memory.is_asked = True
        key = await self._keys.get()
        known = recognised(judged, metadata.uid, key)

        def record(of: Judged) -> Judged | UnsetType:
            """Nothing to write where the status says so already."""
            proven = with_proof(of, metadata.uid, key)
            return UNSET if proven == judged else proven

        standing = self._guard.latest
        if standing is None or memory.judged != (standing.era, seen):
            standing = await self._guard.standing(after=now)  # after the object was read
        if not standing.is_in_force:
            fact = Fact(cause=Cause.POLICY_MISSING, detail=PoliciesMissing(problems=standing.problems))
            return Verdict(fact=fact, judged=record(with_gap(known)))
        if memory.judged != (standing.era, seen) and not self._is_judged(
            memory, metadata, seen, known, standing, mirrored=mirrored
        ):
            return await self._not_judged(resource, metadata, memory, record(with_gap(known)), standing)
        memory.judged = standing.era, seen
        look_at = None
        if memory.lasts != standing.era:
            look_at = await self._last(resource, metadata, memory, standing)
        if memory.lasts != standing.era:
            return Verdict(look_at=look_at)  # the status says already that this state was judged
        if not has_account:
            memory.is_asked = judged is not None
            return Verdict(judged=UNSET if judged is None else None)
        of = Judged(generation=seen.generation, metadata=seen.metadata, policies=standing.era.identity)
        return Verdict(judged=record(of))

    def _is_judged(
        self,
        memory: Memory,
        metadata: ObjectMeta,
        seen: State,
        judged: Judged | None,
        standing: Standing,
        *,
        mirrored: ObjectMeta | None,
    ) -> bool:
        era, version = standing.era, int(metadata.resource_version or 0)
        proves_all = (
            memory.lasts == era
            or is_uninterrupted(judged, era)
            or is_created_since(judged, metadata.creation_timestamp, standing)
            or is_written_since(memory.read, edit_of(metadata), version, era)
            or is_named_since(memory.named_at, standing)
        )
        if proves_all:
            memory.lasts = era
        return proves_all or is_recorded(judged, seen) or self._is_mirrored(judged, seen, mirrored, era)

    def _is_mirrored(self, judged: Judged | None, seen: State, mirrored: ObjectMeta | None, era: Era) -> bool:
        if judged is None or mirrored is None or judged.metadata != seen.metadata:
            return False
        of_instance = self._memories.get(mirrored.uid)
        return of_instance is not None and of_instance.judged == (era, state_of(mirrored))

    async def _last(self, resource: Resource, metadata: ObjectMeta, memory: Memory, standing: Standing) -> float | None:
        """See whether the state that is judged is still the last one, once each API server enforces the policies."""
        if self._clock() < standing.settles_at:
            return standing.settles_at
        read = await self._read(resource, metadata, standing)
        if read is not None and memory.judged == (standing.era, read.state):
            memory.lasts = standing.era
        return None  # else an event is on its way

    async def _not_judged(
        self,
        resource: Resource,
        metadata: ObjectMeta,
        memory: Memory,
        marked: Judged | UnsetType,
        standing: Standing,
    ) -> Verdict:
        if self._clock() < standing.settles_at:
            fact = Fact(cause=Cause.POLICY_MISSING, detail=SETTLING)
            return Verdict(fact=fact, judged=marked, look_at=standing.settles_at)
        if memory.read is None or memory.read.era != standing.era:
            memory.read = await self._read(resource, metadata, standing)
        detail = MIRROR_NOT_JUDGED if edit_of(metadata).is_mirror else NOT_JUDGED
        return Verdict(fact=Fact(cause=Cause.NOT_JUDGED, detail=detail), judged=marked)

    async def _read(self, resource: Resource, metadata: ObjectMeta, standing: Standing) -> Read | None:
        """None: the object is gone, and an event will say so."""
        try:
            live = await self._client.get_metadata(resource, "", metadata.name)
        except NotFoundError:
            return None
        return Read(standing.era, edit_of(live), state_of(live), live.version) if live.uid == metadata.uid else None


def _without(found: dict[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name, value in found.items() if name not in names}


def _digest(form: object) -> str:
    return hashlib.sha256(canonical_json(form)).hexdigest()

"""Result of a stage of a reconcile, what it found out and did, as one immutable value. Values combine by `+`.

A stage does not know whether it serves an upgrade, drift or a deletion, and says nothing about conditions, Events or
retries: `conclude` does, by the causes of the facts. What several stages find out about one object stands in one fact
for each cause, so that it is told once.

The detail of a fact is what it knows beyond its cause and its objects, typed; text is made of it last. Two details that
are equal tell the same: the identity of what is told is a digest of the class's name and the fields, so a class that is
renamed is told once more after an upgrade of the operator. No detail masks anything: `conclude` does, before a text is
cut.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from rukpak_py.api.bundle_deployment import (
    CompletedObject,
    Installation,
    InstalledContent,
    InstalledKind,
    Judged,
    KeptObject,
)
from rukpak_py.api.conditions import first_line
from rukpak_py.api.hook_status import HookRecord, RunningHook
from rukpak_py.api.source import Source
from rukpak_py.api.upgrades import BegunUpgrade, PendingUpgrade, RolledBack
from rukpak_py.controllers.result.cause_table import TABLE, Row
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.core.objects import ObjectKey

Objects = Sequence[ObjectKey]


class Detail(Struct, frozen=True, kw_only=True, tag=True):
    """`text` is what a condition says; `brief` is the line for Ready and for the Event."""

    def text(self, objects: Objects, /) -> str:
        raise NotImplementedError

    def brief(self, objects: Objects, /) -> str:
        return first_line(self.text(objects))


class NoDetail(Detail, frozen=True, kw_only=True):
    """An empty text, for facts that are not reported."""

    def text(self, _: Objects, /) -> str:
        return ""


class Words(Detail, frozen=True, kw_only=True):
    """The words of an error, a server or a source. `line`: for where one line has room, if not the first."""

    words: str
    line: str = ""

    def text(self, _: Objects, /) -> str:
        return self.words

    def brief(self, _: Objects, /) -> str:
        return first_line(self.line or self.words)


NO_DETAIL = NoDetail()


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """A failure, a wait, a note, or what has happened: the row of its cause says which. Times are those of the loop.

    `since`: when it began, where the memory of the process knows of it; else the status says it, or it begins now.
    `at`: another attempt not before (`Retry-After`), or when to look again.
    `wakes`: objects whose change brings the key back at once; without a name any of the kind, there.
    `lasting`: seconds after which it counts as the later cause of its row; None: those of the row.
    """

    cause: Cause
    detail: Detail = NO_DETAIL
    objects: tuple[ObjectKey, ...] = ()
    since: float | None = None
    at: float | None = None
    wakes: frozenset[ObjectKey] = field(default_factory=frozenset)
    lasting: float | None = None

    @property
    def row(self) -> Row:
        return TABLE[self.cause]

    @property
    def later(self) -> tuple[float, Cause] | None:
        """Seconds, and the cause that it counts as once it has lasted for them."""
        later = self.row.later
        return later if later is None or self.lasting is None else (self.lasting, later[1])

    @property
    def text(self) -> str:
        return self.detail.text(self.objects)

    @property
    def brief(self) -> str:
        return self.detail.brief(self.objects)


class Reached(IntEnum):
    """Point that a stage has reached. A failure of the wanted content while NOTHING is reached is a refusal."""

    NOTHING = 0  # was written
    PARTLY = 1
    APPLIED = 2  # all of it is there, and its health was judged
    FINISHED = 3  # healthy and pruned: what was there before may go
    GONE = 4  # the object itself: there is nothing left to report on


class UnpackedContent(Struct, frozen=True, kw_only=True):
    """Content that a Bundle is unpacked as."""

    digest: str
    source: Source  # resolved
    artifact_type: str = ""
    spec_digest: str
    url: str = ""


class RecordedInstallation(Struct, frozen=True, kw_only=True):
    """Record of an installation in the status."""

    bundle: str
    digest: str
    version: str = ""
    content: InstalledContent | None = None
    install_namespace: str = ""
    applied_digest: str = ""
    kinds: tuple[InstalledKind, ...] = ()
    kept: tuple[KeptObject, ...] = ()
    completed: tuple[CompletedObject, ...] = ()
    history: tuple[Installation, ...] = ()
    delete_hooks: bool = False


class StatusChange(Struct, frozen=True, kw_only=True):
    """Fields of the status that a stage sets; UNSET: it says nothing about them."""

    content: UnpackedContent | UnsetType = UNSET  # of a Bundle
    valid: str | UnsetType = UNSET  # name of the Bundle of the template, which is unpacked
    installed: RecordedInstallation | UnsetType = UNSET
    kinds: tuple[InstalledKind, ...] | UnsetType = UNSET  # that are about to be used, beside what is recorded of them
    delete_hooks: bool | UnsetType = UNSET
    hooks: tuple[HookRecord, ...] | UnsetType = UNSET
    running_hook: RunningHook | UnsetType | None = UNSET
    pending_upgrade: PendingUpgrade | UnsetType | None = UNSET
    upgrade: BegunUpgrade | UnsetType | None = UNSET
    rollback: RolledBack | UnsetType | None = UNSET
    judged: Judged | UnsetType | None = UNSET
    last_handled_refresh_at: str | UnsetType = UNSET

    def __add__(self, other: "StatusChange") -> "StatusChange":
        mine, others = self._set_fields(), other._set_fields()
        if twice := sorted(mine.keys() & others.keys()):
            raise ValueError(f"two stages set the same fields of the status: {', '.join(twice)}")
        return StatusChange(**mine, **others)

    def _set_fields(self) -> dict[str, Any]:
        return {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not UNSET}


NO_CHANGE = StatusChange()


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    facts: tuple[Fact, ...] = ()
    change: StatusChange = NO_CHANGE
    reached: Reached = Reached.NOTHING

    def __add__(self, other: "Progress") -> "Progress":
        return Progress(
            facts=tuple(dict.fromkeys((*self.facts, *other.facts))),
            change=self.change + other.change,
            reached=max(self.reached, other.reached),
        )


NO_PROGRESS = Progress()

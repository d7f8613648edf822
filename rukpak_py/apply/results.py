"""What came of carrying out a plan, as values."""

from dataclasses import dataclass, field
from enum import Enum, auto

from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.core.objects import ObjectKey


class FailureKind(Enum):
    """What kind of failure, and with it what ends it."""

    CONTENT = auto()  # it can never be applied as it is: only new content helps
    REFUSED = auto()  # the server or an admission policy says no; the policy may change
    ACCESS = auto()  # a right is missing
    CONFLICT = auto()  # somebody else's
    MISSING = auto()  # a kind or a namespace is not there
    LAGGING = auto()  # the server does not know a custom kind, or its schema, yet
    UNAVAILABLE = auto()  # the server, for now


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    key: ObjectKey
    kind: FailureKind
    message: str
    retry_after: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class DryRun:
    """`untried`: because answers are slow, these are left for the next look."""

    failures: tuple[Failure, ...] = ()
    untried: tuple[ObjectKey, ...] = ()


@dataclass(slots=True)
class ChangeSet:
    """Filled while a plan is carried out. `waiting` says for what; the watch that ends the wait brings the key back."""

    created: list[ObjectKey] = field(default_factory=list)
    updated: list[ObjectKey] = field(default_factory=list)
    corrected: list[ObjectKey] = field(default_factory=list)
    taken: list[ObjectKey] = field(default_factory=list)
    replaced: dict[ObjectKey, str] = field(default_factory=dict)  # created again after a deletion for this, and why
    pruned: list[ObjectKey] = field(default_factory=list)
    released: list[ObjectKey] = field(default_factory=list)  # left in the cluster, not managed any more
    gone: list[ObservedObject] = field(default_factory=list)  # of those that were pruned, as they were
    failures: list[Failure] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    postponed: list[ObjectKey] = field(default_factory=list)  # not written, because answers are slow
    warnings: list[str] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        return not self.failures and not self.waiting and not self.postponed

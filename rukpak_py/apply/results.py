"""The result of carrying out a plan, and from an error to the failure of one object: its kind, text and wake-ups."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from rukpak_py.api.names import APPLIED_ANNOTATION, OWNER_KIND_LABEL, OWNER_NAME_LABEL
from rukpak_py.apply.marks import Owner
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.order import is_builtin
from rukpak_py.core.errors import AccessError, ConflictError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.kube.errors import (
    ApiError,
    InvalidError,
    KindNotServedError,
    NotFoundError,
    SchemaError,
    StaleError,
    TooLargeError,
)
from rukpak_py.kube.resources import NAMESPACES, RESOURCE_QUOTAS
from rukpak_py.kube.status_errors import concise_message, is_immutable_change


class FailureKind(Enum):
    """A kind of failure, and with it what ends it."""

    CONTENT = auto()  # it can never be applied as it is: only new content helps
    REFUSED = auto()  # the server or an admission policy says no; the policy may change
    ACCESS = auto()  # a right is missing
    PERMISSIONS = auto()  # the rights of an account do not suffice for the content; nothing says when they do
    CONFLICT = auto()  # another owner's
    MISSING = auto()  # a kind or a namespace is not there
    LAGGING = auto()  # the server does not know a custom kind, or its schema, yet
    STALE = auto()  # another client changed or deleted the object since it was read
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


def failure_of(key: ObjectKey, error: RukPakError, *, when_immutable: str = "") -> Failure:
    """`when_immutable`: what helps when the server does not let a field change."""
    # The object, field and cause on one line: the server's text names no kind and no namespace.
    message = concise_message(error) if isinstance(error, ApiError) else str(error)
    text = message if str(key) in message else f"{key}: {message}"
    if when_immutable and isinstance(error, ApiError) and is_immutable_change(error):
        text = f"{text}; {when_immutable}"
    return Failure(key=key, kind=failure_kind(key, error), message=text, retry_after=error.retry_after)


def failure_kind(key: ObjectKey, error: RukPakError) -> FailureKind:
    match error:
        case KindNotServedError() | SchemaError() if not is_builtin(key.group):
            return (
                FailureKind.LAGGING
            )  # right after a change of its CRD a server may not know the kind, or its new schema
        case KindNotServedError() | NotFoundError():
            return FailureKind.MISSING
        case SchemaError() | TooLargeError() | ContentError():
            return FailureKind.CONTENT
        case InvalidError():
            return FailureKind.REFUSED
        case AccessError():
            return FailureKind.ACCESS
        case StaleError():
            return FailureKind.STALE
        case ConflictError():
            return FailureKind.CONFLICT
        case UnavailableError() | ApiError() | _:
            return FailureKind.UNAVAILABLE


def lost_marks(live: ObservedObject, owner: Owner) -> Failure | None:
    """A refusal when an answer lacks marks that we sent: an admission webhook may have taken them off.

    Without our labels no watch shows the object; without an owner it is never pruned and outlives its deployment;
    without the annotation nothing tells whether it is current.
    """
    lost = [] if live.is_deleted else list(_lost(live, owner))
    if not lost:
        return None
    message = (
        f"{live.key}: an admission webhook or policy removed {' and '.join(lost)}, without which the object cannot be "
        "watched, corrected or pruned; make it leave metadata of core.rukpak.io alone, or exempt the object"
    )
    return Failure(key=live.key, kind=FailureKind.REFUSED, message=message)


def _lost(live: ObservedObject, owner: Owner) -> Iterator[str]:
    if live.labelled_for != owner.name:
        yield f"the label {OWNER_KIND_LABEL} or {OWNER_NAME_LABEL}"
    elif live.owner_uid != owner.uid:  # of the annotation form, without labels the uid does not count
        yield "the owner"
    if not live.applied:
        yield f"the annotation {APPLIED_ANNOTATION}"


Wakes = frozenset[ObjectKey]  # a change of these ends a back-off; an empty name: of any object of the kind
NO_WAKES: Wakes = frozenset()


def kind_wake(kind: GroupKind) -> ObjectKey:
    """The kind is served, or can be listed."""
    return ObjectKey(kind.group, kind.kind, "", "")


def namespace_wake(name: str) -> ObjectKey:
    """The namespace is created."""
    return NAMESPACES.key("", name)


def quota_wake(namespace: str) -> ObjectKey:
    """The limits of a quota there change."""
    return RESOURCE_QUOTAS.key(namespace, "")


def kind_wakes(kinds: Iterable[GroupKind]) -> Wakes:
    return frozenset(map(kind_wake, kinds))


def wakes_of(failure: Failure) -> Wakes:
    """A server does not say whether a quota, a right or a policy denied a write."""
    key, found = failure.key, set[ObjectKey]()
    match failure.kind:
        case FailureKind.MISSING | FailureKind.LAGGING:
            found.add(kind_wake(key.group_kind))
            found |= {namespace_wake(key.namespace)} if key.namespace else set()
        case FailureKind.UNAVAILABLE if key.namespace:  # it may be going, and be created again
            found.add(namespace_wake(key.namespace))
        case FailureKind.ACCESS if key.namespace:
            found.add(quota_wake(key.namespace))
        case _:
            pass
    return frozenset(found)

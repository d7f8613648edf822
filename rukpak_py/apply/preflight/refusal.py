"""Why nothing is written, what kind of failure that is, and whose change ends it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rukpak_py.apply.results import Failure, FailureKind
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.core.wording import joined


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitsFor:
    """What brings a deployment back before its back-off does, when a watch shows it."""

    kinds: frozenset[GroupKind] = frozenset()
    namespaces: frozenset[str] = frozenset()
    objects: frozenset[ObjectKey] = frozenset()  # somebody else's: when they go
    quotas: frozenset[str] = frozenset()  # namespaces: when the limits of their quotas change

    def __bool__(self) -> bool:
        return bool(self.kinds or self.namespaces or self.objects or self.quotas)

    def __or__(self, other: "WaitsFor") -> "WaitsFor":
        return WaitsFor(
            kinds=self.kinds | other.kinds,
            namespaces=self.namespaces | other.namespaces,
            objects=self.objects | other.objects,
            quotas=self.quotas | other.quotas,
        )


def ended_by(failures: Iterable[Failure]) -> WaitsFor:
    """What may end failures of requests. A server does not say whether a quota, a right or a policy denied a write."""
    found = WaitsFor()
    for failure in failures:
        key = failure.key
        namespaces = frozenset({key.namespace} - {""})
        match failure.kind:
            case FailureKind.MISSING | FailureKind.LAGGING:
                found |= WaitsFor(kinds=frozenset({GroupKind(key.group, key.kind)}), namespaces=namespaces)
            case FailureKind.UNAVAILABLE:
                found |= WaitsFor(namespaces=namespaces)  # it may be going, and be created again
            case FailureKind.ACCESS:
                found |= WaitsFor(quotas=namespaces)
            case FailureKind.CONTENT | FailureKind.REFUSED | FailureKind.CONFLICT:
                pass
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """`brief`: one line instead of the message where there is room for one only; empty: the message's first.

    `is_gone`: the deployment itself is gone, and there is nothing to be said to anybody.
    """

    message: str
    failure_kinds: frozenset[FailureKind]
    brief: str = ""
    waits_for: WaitsFor = field(default_factory=WaitsFor)
    is_gone: bool = False
    retry_after: float = 0.0


GONE = Refusal(message="", failure_kinds=frozenset(), is_gone=True)


def merged(refusals: Sequence[Refusal]) -> Refusal | None:
    if len(refusals) < 2:
        return refusals[0] if refusals else None
    return Refusal(
        message=joined(refusal.message for refusal in refusals),
        brief=joined(refusal.brief or refusal.message for refusal in refusals),
        failure_kinds=frozenset[FailureKind]().union(*(refusal.failure_kinds for refusal in refusals)),
        waits_for=_all(refusal.waits_for for refusal in refusals),
    )


def _all(waits: Iterable[WaitsFor]) -> WaitsFor:
    found = WaitsFor()
    for one in waits:
        found |= one
    return found

"""Gate: no name that the content wants is somebody else's. Everything that is refused is named."""

from rukpak_py.apply.ownership import belongs_to_deployment
from rukpak_py.apply.plan import Action, Plan
from rukpak_py.apply.preflight.candidate import Candidate
from rukpak_py.apply.preflight.refusal import Refusal
from rukpak_py.apply.results import FailureKind
from rukpak_py.core.objects import ObjectKey
from rukpak_py.core.wording import joined


def refused(candidate: Candidate) -> Refusal | None:
    """A name that is free for a moment counts when no other is refused."""
    changes, owners = candidate.plan.refused, candidate.returning
    if changes:
        return _conflict(joined(change.reason for change in changes), {change.key for change in changes})
    if owners:
        return _conflict(joined(belongs_to_deployment(key, owners[key]) for key in sorted(owners)), set(owners))
    return None


def created_keys(plan: Plan) -> list[ObjectKey]:
    return [change.key for change in plan.changes if change.action is Action.CREATE]


def _conflict(message: str, keys: set[ObjectKey]) -> Refusal:
    return Refusal(kind=FailureKind.CONFLICT, message=message, wakes=frozenset(keys))

"""Gates of the plan: they know what is live, or ask the API server."""

from rukpak_py.apply.ownership import belongs_to_deployment
from rukpak_py.apply.plan import Action, Change, Plan, not_checkable
from rukpak_py.apply.preflight.gate import Candidate, OwnerIsGone, Refusal, RefusedObjects, Untried
from rukpak_py.apply.results import FailureKind
from rukpak_py.core.objects import ObjectKey
from rukpak_py.core.text import joined


def names_of_others(candidate: Candidate) -> Refusal | None:
    """Names that the content wants and another owner has, all of them.

    A name that is free for a moment counts when no other is refused.
    """
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


async def deployment_is_gone(candidate: Candidate) -> OwnerIsGone | None:
    """Asks whether the deployment itself exists when something that it had is missing or has lost its owner.

    The collector deletes the objects of a deployment that is gone, and their watches may say so before its own does.
    What is created with its uid then would be collected at once, and created again, for ever.
    """
    plan = candidate.plan
    lost, created = [change for change in plan.changes if _lost_its_owner(change)], created_keys(plan)
    if not lost and not created:
        return None
    is_doubtful = bool(lost) or any(map(candidate.had, created))
    return None if await candidate.still_exists(is_doubtful) else OwnerIsGone()


def _lost_its_owner(change: Change) -> bool:
    """Ours by its labels alone. Of a deployment that is deleted with `orphan` this is seen before the deletion is; to
    give the owner back then would hand the object to the collector.
    """
    return change.action is Action.TAKE and change.live is not None and bool(change.live.labelled_for)


async def refused_by_server(candidate: Candidate) -> RefusedObjects | Untried | None:
    """Refuse an upgrade unless the server takes all that changed. Nothing is changed while it refuses anything."""
    if not candidate.is_upgrade:
        return None
    plan = candidate.plan
    found = await candidate.dry_run(plan, not_checkable(plan, candidate.makes_namespace))
    if found.failures:
        return RefusedObjects(failures=found.failures)
    return Untried(keys=found.untried) if found.untried else None

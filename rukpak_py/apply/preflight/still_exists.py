"""Gate: the deployment itself still exists, when something that it had is missing or has lost its owner.

The collector deletes the objects of a deployment that is gone, and their watches may say so before its own does. What
is created with its uid then would be collected at once, and created again, for ever.
"""

from rukpak_py.apply.plan import Action, Change
from rukpak_py.apply.preflight.candidate import Candidate
from rukpak_py.apply.preflight.ownership import created_keys
from rukpak_py.apply.preflight.refusal import OwnerIsGone


async def refusal(candidate: Candidate) -> OwnerIsGone | None:
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

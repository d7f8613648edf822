"""Gate, for upgrades: the server takes everything that changed. Nothing is changed while it refuses anything."""

from rukpak_py.apply.plan import not_checkable
from rukpak_py.apply.preflight.candidate import Candidate
from rukpak_py.apply.preflight.refusal import RefusedObjects, Untried


async def refusal(candidate: Candidate) -> RefusedObjects | Untried | None:
    if not candidate.is_upgrade:
        return None
    plan = candidate.plan
    found = await candidate.dry_run(plan, not_checkable(plan, candidate.makes_namespace))
    if found.failures:
        return RefusedObjects(failures=found.failures)
    return Untried(keys=found.untried) if found.untried else None

"""Gate, for upgrades: the server takes everything that changed. Nothing is changed while it refuses anything."""

from rukpak_py.apply.plan import not_checkable
from rukpak_py.apply.preflight.candidate import Candidate
from rukpak_py.apply.preflight.refusal import RefusedObjects


async def refusal(candidate: Candidate) -> RefusedObjects | None:
    if not candidate.is_upgrade:
        return None
    plan = candidate.plan
    failures = await candidate.dry_run(plan, not_checkable(plan, candidate.makes_namespace))
    return RefusedObjects(failures=tuple(failures)) if failures else None

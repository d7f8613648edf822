"""Gate, for upgrades: the server takes everything that changed. Nothing is changed while it refuses anything."""

from collections.abc import Callable

from rukpak_py.apply.plan import Change, Plan
from rukpak_py.apply.preflight.candidate import Candidate
from rukpak_py.apply.preflight.refusal import RefusedObjects
from rukpak_py.core.objects import GroupKind
from rukpak_py.kube.resources import NAMESPACES


async def refusal(candidate: Candidate) -> RefusedObjects | None:
    if not candidate.is_upgrade:
        return None
    plan = candidate.plan
    failures = await candidate.dry_run(plan, not_checkable(plan, candidate.makes_namespace))
    return RefusedObjects(failures=tuple(failures)) if failures else None


def not_checkable(plan: Plan, makes_namespace: str = "") -> Callable[[Change], bool]:
    """What cannot be tried out yet: objects in namespaces that the plan creates, and of kinds that it defines."""
    writes = plan.writes
    namespaces = {change.key.name for change in writes if change.desired.head.gvk.group_kind == NAMESPACES.group_kind}
    namespaces |= {makes_namespace} - {""}
    kinds = frozenset[GroupKind]().union(*(change.desired.defines for change in writes))

    def skip(change: Change) -> bool:
        return change.key.namespace in namespaces or change.desired.head.gvk.group_kind in kinds

    return skip

"""Gate, for upgrades: the server takes everything that changed. Nothing is changed while it refuses anything."""

from collections.abc import Callable

from rukpak_py.apply.plan import Change, Plan
from rukpak_py.apply.preflight.candidate import Candidate
from rukpak_py.apply.preflight.refusal import Refusal, ended_by
from rukpak_py.apply.results import Failure, FailureKind
from rukpak_py.core.objects import GroupKind
from rukpak_py.core.wording import joined
from rukpak_py.kube.resources import NAMESPACES

NOT_FOUND = "required resource not found: "


async def refusal(candidate: Candidate) -> Refusal | None:
    if not candidate.is_upgrade:
        return None
    plan = candidate.plan
    return refusal_of(await candidate.dry_run(plan, not_checkable(plan, candidate.makes_namespace)))


def refusal_of(failures: list[Failure]) -> Refusal | None:
    if not failures:
        return None
    failure_kinds = frozenset(failure.kind for failure in failures)
    text = joined(failure.message for failure in failures)
    return Refusal(
        message=NOT_FOUND + text if failure_kinds == {FailureKind.MISSING} else text,
        failure_kinds=failure_kinds,
        retry_after=max(failure.retry_after for failure in failures),
        waits_for=ended_by(failures),
    )


def not_checkable(plan: Plan, makes_namespace: str = "") -> Callable[[Change], bool]:
    """What cannot be tried out yet: objects in namespaces that the plan creates, and of kinds that it defines."""
    writes = plan.writes
    namespaces = {change.key.name for change in writes if change.desired.head.gvk.group_kind == NAMESPACES.group_kind}
    namespaces |= {makes_namespace} - {""}
    kinds = frozenset[GroupKind]().union(*(change.desired.defines for change in writes))

    def skip(change: Change) -> bool:
        return change.key.namespace in namespaces or change.desired.head.gvk.group_kind in kinds

    return skip

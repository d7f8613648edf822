"""Gate: no name that the content wants is somebody else's. Everything that is refused is named."""

from collections.abc import Mapping

from rukpak_py.apply.ownership import belongs_to_deployment
from rukpak_py.apply.plan import Action, Plan
from rukpak_py.apply.preflight.refusal import Refusal, WaitsFor
from rukpak_py.apply.results import FailureKind
from rukpak_py.core.objects import ObjectKey
from rukpak_py.core.wording import joined


def refused(plan: Plan) -> Refusal | None:
    if not plan.refused:
        return None
    return _conflict(joined(change.reason for change in plan.refused), {change.key for change in plan.refused})


def free_for_a_moment(owners: Mapping[ObjectKey, str]) -> Refusal | None:
    """Names that are free now, and that the deployment they were refused for is about to fill again."""
    if not owners:
        return None
    message = joined(belongs_to_deployment(key, owners[key]) for key in sorted(owners))
    return _conflict(message, set(owners))


def created_keys(plan: Plan) -> list[ObjectKey]:
    return [change.key for change in plan.changes if change.action is Action.CREATE]


def _conflict(message: str, keys: set[ObjectKey]) -> Refusal:
    return Refusal(
        message=message, failure_kinds=frozenset({FailureKind.CONFLICT}), waits_for=WaitsFor(objects=frozenset(keys))
    )

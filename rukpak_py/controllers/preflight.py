"""What can be told before the first write, from the content and the plan alone."""

from collections.abc import Callable

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.apply.plan import Action, Change, Plan
from rukpak_py.controllers import failures
from rukpak_py.controllers.deployment_status import Report
from rukpak_py.controllers.rendering import Wanted
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.kube.resources import NAMESPACES

NEEDED_VERBS = frozenset({"get", "list", "watch", "create", "patch", "delete"})


def blocker(deployment: BundleDeployment, wanted: Wanted, has_namespace: Callable[[str], bool]) -> Report | None:
    """Kinds and namespaces that are not there and that the content does not bring; kinds that nothing can keep."""
    if wanted.resolution.missing:
        return failures.missing_kinds(deployment, wanted.resolution.missing)
    offered = wanted.resolution.resources.values()  # without verbs: a kind that only the content knows so far
    unkeepable = [resource for resource in offered if resource.verbs and not resource.verbs >= NEEDED_VERBS]
    if unkeepable:
        return failures.unkeepable(deployment, unkeepable)
    brought = {one.key.name for one in wanted.desired if one.head.gvk.group_kind == NAMESPACES.group_kind}
    needed = {one.key.namespace for one in wanted.desired if one.key.namespace} - brought
    absent = sorted(name for name in needed if not has_namespace(name))
    return failures.missing_namespaces(deployment, absent) if absent else None


def creates(plan: Plan) -> list[ObjectKey]:
    return [change.key for change in plan.changes if change.action is Action.CREATE]


def lost_their_owner(plan: Plan) -> list[ObjectKey]:
    """Ours by their labels alone. Of a deployment that is deleted with `orphan` this is seen before the deletion is; to
    give the owner back then would hand the objects to the collector.
    """
    return [change.key for change in plan.changes if change.action is Action.TAKE and _has_our_label(change)]


def not_checkable(plan: Plan) -> Callable[[Change], bool]:
    """What cannot be dry-run yet: objects in namespaces that the plan creates, and of kinds that it defines."""
    writes = plan.writes
    namespaces = {change.key.name for change in writes if change.desired.head.gvk.group_kind == NAMESPACES.group_kind}
    kinds: set[GroupKind] = set().union(*(change.desired.defines for change in writes))

    def skip(change: Change) -> bool:
        return change.key.namespace in namespaces or change.desired.head.gvk.group_kind in kinds

    return skip


def _has_our_label(change: Change) -> bool:
    return change.live is not None and bool(change.live.labelled_for)

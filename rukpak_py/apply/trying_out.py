"""Which changes the API server can judge in a dry run: not those that need what the same plan has yet to write.

They are tried out as soon as the phase that makes it possible is done, and before anything of a later phase is written.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import orjson

from rukpak_py.apply.permissions.permission import mapping, text
from rukpak_py.apply.plan import Action, Change, Plan
from rukpak_py.core.objects import RBAC_GROUP, GroupKind, ObjectKey
from rukpak_py.kube.resources import NAMESPACES, SERVICE_ACCOUNTS

Skip = Callable[[Change], bool]
_POD = GroupKind("", "Pod")
_NAMED_BY_PODS = {
    "serviceAccountName": SERVICE_ACCOUNTS.group_kind,
    "priorityClassName": GroupKind("scheduling.k8s.io", "PriorityClass"),
    "runtimeClassName": GroupKind("node.k8s.io", "RuntimeClass"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Trials:
    """Changes of an upgrade that could not be tried out before its first write.

    `plan`: all of it, also where only some is applied now. `tried`: what the server took so far, which grows.
    """

    plan: Plan
    tried: set[ObjectKey]
    has_account: bool


def not_checkable(plan: Plan, *, makes_namespace: str = "", has_account: bool = False) -> Skip:
    """Tell changes that cannot be tried out before the plan is carried out.

    They are in namespaces that it writes, of kinds whose CRDs it writes, Pods that name what it creates, and for an
    account bindings to roles that it creates: the server looks for the rules of the role, and finds none.
    """
    writes = plan.writes
    namespaces = {change.key.name for change in writes if change.desired.head.gvk.group_kind == NAMESPACES.group_kind}
    namespaces |= {makes_namespace} - {""}
    kinds = frozenset[GroupKind]().union(*(change.desired.defines for change in writes))
    created = {change.key for change in plan.changes if change.action is Action.CREATE}

    def skip(change: Change) -> bool:
        if change.key.namespace in namespaces or change.desired.head.gvk.group_kind in kinds:
            return True
        return bool(created) and not created.isdisjoint(_named(change, has_account=has_account))

    return skip


def instances_wait(plan: Plan, whole: Plan) -> bool:
    """Whether the plan changes a CRD, and the whole of which it is a part also instances of that."""
    kinds = frozenset[GroupKind]().union(*(change.desired.defines for change in plan.writes))
    return any(change.desired.head.gvk.group_kind in kinds for change in whole.writes)


def _named(change: Change, *, has_account: bool) -> Iterator[ObjectKey]:
    """Objects without which admission refuses the change."""
    key = change.key
    if has_account and key.group == RBAC_GROUP and key.kind.endswith("Binding"):
        role = mapping(orjson.loads(change.payload.body).get("roleRef"))
        kind = text(role.get("kind"))
        yield ObjectKey(RBAC_GROUP, kind, key.namespace if kind == "Role" else "", text(role.get("name")))
    elif key.group_kind == _POD:
        spec = mapping(orjson.loads(change.payload.body).get("spec"))
        for field, named in _NAMED_BY_PODS.items():
            place = key.namespace if named == SERVICE_ACCOUNTS.group_kind else ""
            yield ObjectKey(named.group, named.kind, place, text(spec.get(field)))

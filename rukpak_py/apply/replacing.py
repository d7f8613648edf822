"""An object that must change in a field that never changes: whether it is deleted and created anew, and what to say.

Only `force` allows it, for immutable fields that the server names, and the server must take the object as a new one.
What is being adopted, and what outlives its deployment, is never deleted for this; of kinds that hold what others have
put into them, only the owner of the deployment says `force`, and a CRD with instances of others is left. That another
object was adopted once leaves no mark on it: it is ours like those that we created.
"""

from rukpak_py.api.names import FORCE_ANNOTATION, PRUNE_ANNOTATION
from rukpak_py.apply.marks import holds_what_cannot_be_had_again
from rukpak_py.apply.order import CRD_KIND
from rukpak_py.apply.plan import Action, Change
from rukpak_py.apply.prune_policy import ForeignInstances, UnlistedInstances
from rukpak_py.apply.results import Failure, FailureKind, failure_of
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import GroupKind
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.status_errors import concise_message, immutable_fields

REPLACE = (
    f'set the annotation {FORCE_ANNOTATION}: "true" on the object in the bundle, or spec.overrides[].force, '
    "to delete and re-create it"
)
_REPLACE_LASTING = "set force for it in spec.overrides to delete and re-create it; {} lost with it"
_LOST = {
    CRD_KIND: "all its instances are",
    GroupKind("", "Namespace"): "everything in it is",
}
_STATEFUL_SET = GroupKind("apps", "StatefulSet")


def propagation_of(kind: GroupKind) -> str:
    """The pods of a StatefulSet serve on, and the new one takes them over."""
    return "Orphan" if kind == _STATEFUL_SET else "Background"


def why_not_deleted(change: Change) -> str:
    """The reason that it is left as it is, whatever `force` says; empty: nothing forbids its deletion."""
    if change.action is Action.TAKE:
        return "it existed before this BundleDeployment"
    if change.action is Action.TAKE_BACK:
        return "it was left in the cluster when it left the bundle"
    if change.live is None or not change.live.outlives:
        return ""
    if change.desired.payload != change.desired.payload_when_taken:
        return f"it is a {change.key.kind} that existed before this BundleDeployment"
    return f'it is marked {PRUNE_ANNOTATION}: "false"'


def advice(change: Change) -> str:
    """Advice for an object of which the server does not let a field change."""
    kind = GroupKind(change.key.group, change.key.kind)
    why = why_not_deleted(change)
    if why:
        itself = "" if holds_what_cannot_be_had_again(kind) else ", or delete it yourself"
        return f"{why} and is not deleted: restore the old value{itself}"
    if change.desired.force:
        return ""  # the server would not take it as a new object either
    if holds_what_cannot_be_had_again(kind):
        return _REPLACE_LASTING.format(_LOST.get(kind, "its data is"))
    return REPLACE


def failure_of_change(change: Change, error: RukPakError) -> Failure:
    return failure_of(change.key, error, when_immutable=advice(change))


def failure_for_instances(change: Change, error: ApiError, instances: ForeignInstances) -> Failure | None:
    """The failure of a CRD that is not replaced, as foreign instances would go with it. None: it has no such."""
    match instances:
        case UnlistedInstances(why=why):
            lost = f"its instances could not be listed: {why}"
        case _ if instances.count:
            lost = f"that would delete {instances}; restore the old value; it is replaced once they are gone"
        case _:
            return None
    message = f"{change.key}: {concise_message(error)}; it is not deleted and re-created: {lost}"
    return Failure(key=change.key, kind=FailureKind.REFUSED, message=message)


def is_replaceable(error: ApiError) -> bool:
    """Whether the server names fields that never change, and only an object made anew could have them as wanted."""
    return bool(immutable_fields(error))


def why_replaced(error: ApiError) -> str:
    fields = immutable_fields(error)
    return f"{', '.join(fields)} {'is' if len(fields) == 1 else 'are'} immutable"

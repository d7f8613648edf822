"""An object that must change in a field that never changes: whether it is deleted and created anew, and what to say.

Only `force` on an object of the content allows it, and the server must take the object as a new one. What is being
adopted, and what outlives its deployment, is never deleted for this. That another object was adopted once leaves no
mark on it: it is ours like those that we created.
"""

from rukpak_py.api.names import FORCE_ANNOTATION, PRUNE_ANNOTATION
from rukpak_py.apply.object_failures import failure_of
from rukpak_py.apply.plan import Action, Change
from rukpak_py.apply.results import Failure
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import GroupKind
from rukpak_py.kube.causes import concise_message, immutable_fields
from rukpak_py.kube.errors import ApiError

REPLACE = (
    f'set the annotation {FORCE_ANNOTATION}: "true" on the object in the bundle, or spec.overrides[].force, '
    "to delete and re-create it"
)
_HOLDS_DATA = frozenset({GroupKind("", "PersistentVolume"), GroupKind("", "PersistentVolumeClaim")})


def why_not_deleted(change: Change) -> str:
    """Why it is left as it is, whatever `force` says; empty: nothing forbids its deletion."""
    if change.action is Action.TAKE:
        return "it existed before this BundleDeployment"
    if change.live is None or not change.live.outlives:
        return ""
    if change.desired.payload != change.desired.payload_when_taken:
        return f"it is a {change.key.kind} that existed before this BundleDeployment"
    return f'it is marked {PRUNE_ANNOTATION}: "false"'


def advice(change: Change) -> str:
    """What helps when the server does not let a field of it change."""
    why = why_not_deleted(change)
    if why:
        return f"{why} and is not deleted: restore the old value, or delete it yourself"
    if change.desired.force:
        return ""  # the server would not take it as a new object either
    holds_data = GroupKind(change.key.group, change.key.kind) in _HOLDS_DATA
    return f"{REPLACE}; its data is lost with it" if holds_data else REPLACE


def failure_of_change(change: Change, error: RukPakError) -> Failure:
    return failure_of(change.key, error, when_immutable=advice(change))


def why_replaced(error: ApiError) -> str:
    fields = immutable_fields(error)
    if not fields:
        return concise_message(error)
    return f"{', '.join(fields)} {'is' if len(fields) == 1 else 'are'} immutable"

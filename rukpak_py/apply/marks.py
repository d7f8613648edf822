"""Whether an answer still has the marks that we sent: an admission webhook may have taken them off.

Without our labels no watch shows the object; without an owner it is never pruned and outlives its deployment; without
the annotation nothing tells whether it is current. Each of them must be there, or the object counts as refused.
"""

from collections.abc import Iterator

from rukpak_py.api.names import APPLIED_ANNOTATION, OWNER_KIND_LABEL, OWNER_NAME_LABEL
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.owner import Owner
from rukpak_py.apply.results import Failure, FailureKind


def lost_marks(live: ObservedObject, owner: Owner) -> Failure | None:
    lost = [] if live.is_deleted else list(_lost(live, owner))
    if not lost:
        return None
    message = (
        f"{live.key}: an admission webhook or policy removed {' and '.join(lost)}, without which the object cannot be "
        "watched, corrected or pruned; make it leave metadata of core.rukpak.io alone, or exempt the object"
    )
    return Failure(key=live.key, kind=FailureKind.REFUSED, message=message)


def _lost(live: ObservedObject, owner: Owner) -> Iterator[str]:
    if live.labelled_for != owner.name:
        yield f"the label {OWNER_KIND_LABEL} or {OWNER_NAME_LABEL}"
    elif live.owner_uid != owner.uid:  # of the annotation form, without labels the uid does not count
        yield "the owner"
    if not live.applied:
        yield f"the annotation {APPLIED_ANNOTATION}"

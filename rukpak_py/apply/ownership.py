"""Who owns an existing object whose name we want, and whether we may take it: a named situation, then one table."""

from collections.abc import Collection
from enum import Enum, auto

from rukpak_py.api.bundle_deployment import Adopt
from rukpak_py.apply.identity import identity
from rukpak_py.apply.lasting_kinds import holds_what_cannot_be_had_again
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.owner import Owner
from rukpak_py.apply.released import released_mark
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.core.wording import counted, named

_TAKE_IT = f"set spec.adopt to {Adopt.IF_UNOWNED} to take it over"


class OwnershipSituation(Enum):
    """The first that fits counts."""

    ABSENT = auto()  # the name is free
    OURS = auto()  # our uid
    OTHER_DEPLOYMENT = auto()  # another BundleDeployment controls it, or our labels name one that exists
    OTHER_CONTROLLER = auto()
    OURS_BY_LABEL = auto()  # our labels or identity, and no controller: bootstrapped, orphaned, restored or stripped
    MISSING_DEPLOYMENT = auto()  # labels of a BundleDeployment that does not exist: renamed, or orphaned
    RELEASED = auto()  # we left it in the cluster when it left the content
    OTHER_TOOL = auto()  # no controller, but marks of Helm, Flux, Argo CD or another tool
    UNOWNED = auto()


def situation(
    live: ObservedObject | None, owner: Owner, missing_deployments: Collection[str] = ()
) -> OwnershipSituation:
    """`missing_deployments`: names that a live GET showed not to exist."""
    if live is None:
        return OwnershipSituation.ABSENT
    if live.owner_uid == owner.uid:
        return OwnershipSituation.OURS
    if live.controller is not None:
        return (
            OwnershipSituation.OTHER_DEPLOYMENT
            if live.is_controlled_by_deployment
            else OwnershipSituation.OTHER_CONTROLLER
        )
    if live.labelled_for == owner.name or live.identity == identity(owner.uid, live.key):
        return OwnershipSituation.OURS_BY_LABEL
    if live.labelled_for:
        is_missing = live.labelled_for in missing_deployments
        return OwnershipSituation.MISSING_DEPLOYMENT if is_missing else OwnershipSituation.OTHER_DEPLOYMENT
    if live.released == released_mark(owner.uid, live.key, live.uid, live.other_tool):
        return OwnershipSituation.RELEASED
    return OwnershipSituation.OTHER_TOOL if live.other_tool else OwnershipSituation.UNOWNED


def may_take(found: OwnershipSituation, adopt: Adopt) -> bool:
    """Whether an object that exists and is not ours by uid may become ours."""
    match found:
        case OwnershipSituation.OURS_BY_LABEL | OwnershipSituation.RELEASED:
            return True
        case OwnershipSituation.MISSING_DEPLOYMENT | OwnershipSituation.UNOWNED:
            return adopt in {Adopt.IF_UNOWNED, Adopt.FORCE}
        case OwnershipSituation.OTHER_TOOL:
            return adopt is Adopt.FORCE
        case _:
            return False


def adopted(taken: Collection[ObjectKey]) -> str:
    """The text of the Event `Adopted`."""
    return f"adopted {counted(len(taken))}: {named(sorted(taken))}"


def belongs_to_deployment(key: ObjectKey, name: str) -> str:
    where = "this bundle" if _holds(key) else "one of the two bundles"
    return (
        f'{key} belongs to the BundleDeployment "{name}"; '
        f"remove it from {where}, or, to hand its objects over, delete that BundleDeployment "
        f"with --cascade=orphan and set spec.adopt: {Adopt.IF_UNOWNED} here"
    )


def refusal(live: ObservedObject, found: OwnershipSituation, owner: Owner) -> str:
    """Why we keep our hands off, and what to do about it: never what deletes contents, data or instances of others."""
    key, holds = live.key, _holds(live.key)
    match found:
        case OwnershipSituation.OTHER_DEPLOYMENT:
            other = live.controller.name if live.controller is not None else live.labelled_for
            if other == owner.name:
                return f'{key} belongs to a former BundleDeployment "{other}", and is still being removed'
            return belongs_to_deployment(key, other)
        case OwnershipSituation.OTHER_CONTROLLER if live.controller is not None:
            return (
                f"{key} is controlled by the {live.controller.kind} "
                f'"{live.controller.name}"; remove it from the bundle{"" if holds else ", or delete its controller"}'
            )
        case OwnershipSituation.MISSING_DEPLOYMENT:
            return (
                f'{key} was installed by the BundleDeployment "{live.labelled_for}", which does not exist; '
                f"{_TAKE_IT if holds else f'delete the object, or {_TAKE_IT}'}"
            )
        case OwnershipSituation.OTHER_TOOL:
            return (
                f"{key} is managed by {live.other_tool}; remove it from the bundle{'' if holds else ' or from there'}, "
                f"or set spec.adopt to {Adopt.FORCE} to take it over"
            )
        case _:
            return f"{key} exists and is not managed by anyone; {_TAKE_IT if holds else f'delete it, or {_TAKE_IT}'}"


def _holds(key: ObjectKey) -> bool:
    return holds_what_cannot_be_had_again(GroupKind(key.group, key.kind))

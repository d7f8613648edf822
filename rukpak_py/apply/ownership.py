"""Whose is an object whose name we want, and what follows: a named situation, then one table (design section 9)."""

from enum import Enum, auto

from rukpak_py.api.bundle_deployment import Adopt
from rukpak_py.apply.live import Live
from rukpak_py.apply.owner import Owner
from rukpak_py.core.objects import ObjectKey


class Situation(Enum):
    ABSENT = auto()  # the name is free
    OURS = auto()  # our uid
    OURS_BY_LABEL = auto()  # our labels and no controller: bootstrapped, orphaned or restored
    OTHER_DEPLOYMENT = auto()
    OTHER_CONTROLLER = auto()
    UNOWNED = auto()


def situation(live: Live | None, owner: Owner) -> Situation:
    if live is None:
        return Situation.ABSENT
    if live.owner_uid == owner.uid:
        return Situation.OURS
    if live.controller is not None:
        return Situation.OTHER_DEPLOYMENT if live.is_controlled_by_deployment else Situation.OTHER_CONTROLLER
    if live.labelled_for == owner.name:
        return Situation.OURS_BY_LABEL
    if live.labelled_for:
        return Situation.OTHER_DEPLOYMENT
    return Situation.UNOWNED


def may_take(found: Situation, adopt: Adopt) -> bool:
    """Whether an object that exists and is not ours by uid may become ours."""
    match found, adopt:
        case (Situation.OURS_BY_LABEL, _) | (Situation.UNOWNED, Adopt.IF_UNOWNED):
            return True
        case _:
            return False


def belongs_to_deployment(key: ObjectKey, name: str) -> str:
    return (
        f'{key} belongs to the BundleDeployment "{name}"; '
        "remove it from one of the two bundles, or delete that BundleDeployment"
    )


def refusal(live: Live, found: Situation, owner: Owner) -> str:
    """Why we keep our hands off, and what to do about it."""
    match found:
        case Situation.OTHER_DEPLOYMENT:
            other = live.controller.name if live.controller is not None else live.labelled_for
            if other == owner.name:
                return f'{live.key} belongs to a former BundleDeployment "{other}", and is still being removed'
            return belongs_to_deployment(live.key, other)
        case Situation.OTHER_CONTROLLER if live.controller is not None:
            return (
                f"{live.key} is controlled by the {live.controller.kind} "
                f'"{live.controller.name}"; remove it from the bundle, or delete its controller'
            )
        case _:
            return f"{live.key} exists and belongs to nobody; delete it, or set spec.adopt to IfUnowned to take it over"

"""Makes the document of an upgrade from its plan. A pure function; the fields of objects were compared before.

Objects come in the order in which they deserve a look, and take the room for fields in that order.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import msgspec
import orjson

from rukpak_py.apply.desired import Desired
from rukpak_py.apply.planned_fields import NO_FIELDS, FieldChanges
from rukpak_py.apply.upgrade_document import (
    FIELDS_AT_MOST,
    LINE_CHARACTERS,
    LINES_AT_MOST,
    OBJECTS_AT_MOST,
    Basis,
    ChangedImage,
    ObjectName,
    PlannedAction,
    PlannedHook,
    PlannedObject,
    Statement,
    UpgradeDocument,
)
from rukpak_py.apply.upgrade_effects import ImageChange, image_changes, irreversible, may_have_effects
from rukpak_py.apply.upgrade_plan import UpgradePlan
from rukpak_py.core.objects import ObjectKey
from rukpak_py.formats.hook import Hook

Json = dict[str, Any]
Hide = Callable[[str], str]
NOTHING_REFUSED: Mapping[ObjectKey, str] = {}


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedObject:
    """`basis` None: it could not be compared, and `why` says why not."""

    basis: Basis | None = None
    changes: FieldChanges = NO_FIELDS
    why: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class UpgradeSides:
    """Manifests of the installed content, as far as it is known, and of the wanted one, with the hooks of that.

    Only those of kinds that may have effects (`may_have_effects`) are needed.
    """

    old: Mapping[ObjectKey, Json]
    new: Mapping[ObjectKey, Json]
    hooks: Collection[Hook] = ()

    @classmethod
    def of(cls, old: Iterable[Desired], new: Iterable[Desired], hooks: Collection[Hook]) -> Self:
        return cls(old=_manifests(old), new=_manifests(new), hooks=hooks)


def _manifests(desired: Iterable[Desired]) -> dict[ObjectKey, Json]:
    return {one.key: orjson.loads(one.payload.body) for one in desired if may_have_effects(one.key.group_kind)}


@dataclass(slots=True)
class _Listing:
    """Shortens lists, and counts what it leaves out of each."""

    hide: Hide
    left_out: dict[str, int] = field(default_factory=dict)

    def first(self, name: str, items: Sequence[Any], most: int = LINES_AT_MOST) -> list[Any]:
        if len(items) > most:
            self.left_out[name] = len(items) - most
        return list(items[:most])

    def lines(self, name: str, lines: Iterable[str]) -> list[str]:
        return [self.line(one) for one in self.first(name, tuple(lines))]

    def line(self, text: str) -> str:
        shown = self.hide(text)
        return shown if len(shown) <= LINE_CHARACTERS else f"{shown[: LINE_CHARACTERS - 1]}…"

    def name(self, key: ObjectKey) -> ObjectName:
        return ObjectName(
            group=self.line(key.group),
            kind=self.line(key.kind),
            namespace=self.line(key.namespace),
            name=self.line(key.name),
        )

    def image(self, one: ImageChange) -> ChangedImage:
        old, new = (None if image is None else self.line(image) for image in (one.old, one.new))
        return ChangedImage(object=self.name(one.key), container=self.line(one.container), old=old, new=new)


def upgrade_document(
    base: UpgradeDocument,
    plan: UpgradePlan,
    sides: UpgradeSides,
    compared: Mapping[ObjectKey, ComparedObject],
    *,
    hide: Hide,
    refused_crds: Mapping[ObjectKey, str] = NOTHING_REFUSED,
) -> UpgradeDocument:
    """`base`: what is known beside the plan. `hide`: masks secret values in a text."""
    listing = _Listing(hide)
    acted = [(action, key) for action in PlannedAction for key in getattr(plan.objects, action.value)]
    images = image_changes(sides.old, sides.new)
    return msgspec.structs.replace(
        base,
        digest=plan.digest,
        verdict=plan.verdict,
        why=listing.lines("why", base.why),
        reviews=listing.lines("reviews", plan.reviews),
        counts={action.value: len(getattr(plan.objects, action.value)) for action in PlannedAction},
        objects=list(_objects(listing, acted, compared)),
        images=[listing.image(one) for one in listing.first("images", images)],
        rights_gained=listing.lines("rightsGained", plan.rights_gained),
        rights_lost=listing.lines("rightsLost", plan.rights_lost),
        crds=[
            Statement(object=listing.line(str(key)), text=listing.line(text))
            for key, text in listing.first("crds", (*refused_crds.items(), *plan.crds.items()))
        ],
        hooks=list(_hooks(listing, plan, sides.hooks)),
        skips_hooks=plan.skips_hooks,
        irreversible=listing.lines("irreversible", irreversible(plan, sides.old, sides.new)),
        left_out=listing.left_out,
    )


def name_of(key: ObjectKey) -> ObjectName:
    return ObjectName(group=key.group, kind=key.kind, namespace=key.namespace, name=key.name)


def _objects(
    listing: _Listing, acted: Sequence[tuple[PlannedAction, ObjectKey]], compared: Mapping[ObjectKey, ComparedObject]
) -> Iterator[PlannedObject]:
    room = FIELDS_AT_MOST
    for action, key in listing.first("objects", acted, OBJECTS_AT_MOST):
        found = compared.get(key)
        if found is None:
            yield PlannedObject(object=listing.name(key), action=action)
            continue
        fields = found.changes.fields[:room]
        room -= len(fields)
        yield PlannedObject(
            object=listing.name(key),
            action=action,
            basis=found.basis or "",
            fields=list(fields),
            left_out=found.changes.left_out + len(found.changes.fields) - len(fields),
            why=listing.line(found.why),
        )


def _hooks(listing: _Listing, plan: UpgradePlan, hooks: Iterable[Hook]) -> Iterator[PlannedHook]:
    events = {str(one.object.head.key): sorted(map(str, one.events)) for one in hooks}
    for name in listing.first("hooks", plan.hooks):
        yield PlannedHook(object=listing.line(name), events=events.get(name, []), is_changed=name in plan.changed_hooks)

"""The plan of an upgrade as it is served and printed: all of it, within limits.

Values are JSON, cut, with secret values masked; of Secrets they are digests. What the limits leave out is counted.
"""

from enum import StrEnum

import msgspec

OBJECTS_AT_MOST = 5_000  # that are listed
FIELDS_AT_MOST = 2_000  # of all objects together
FIELDS_OF_OBJECT = 100
LINES_AT_MOST = 500  # of each list of statements
LINE_CHARACTERS = 1_000  # of a statement
VALUE_CHARACTERS = 400
PATH_CHARACTERS = 400


class PlanState(StrEnum):
    """Situation of the wanted content: whether it is applied by itself."""

    INSTALLED = "Installed"  # nothing is to be done
    READY = "Ready"  # nothing that the plan knows stands in its way
    BEGUN = "Begun"
    WAITING = "Waiting"  # for an approval, or a window
    REFUSED = "Refused"  # by a gate, or its last attempt failed
    SUSPENDED = "Suspended"


class PlannedAction(StrEnum):
    """Action on an object; first those that deserve a look first."""

    REPLACED = "replaced"
    PRUNED = "pruned"
    TAKEN = "taken"
    KEPT = "kept"
    CHANGED = "changed"
    CREATED = "created"


class Basis(StrEnum):
    """Source of the fields of an object."""

    DRY_RUN = "dryRun"  # what the API server would store, against what it stores
    CONTENT = "content"  # the wanted content against the installed one: the server cannot say it yet


class PlannedField(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`change`: added, removed or changed. `old` and `new`: JSON, or of a Secret a digest; null: there is none."""

    path: str
    change: str
    old: str | None = None
    new: str | None = None
    secret: bool = False


class ObjectName(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    group: str
    kind: str
    namespace: str
    name: str


class PlannedObject(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`basis` empty: its fields were not compared, and `why` says why not. `left_out`: fields that are not listed."""

    object: ObjectName
    action: str
    basis: str = ""
    fields: list[PlannedField] = []
    left_out: int = 0
    why: str = ""


class ChangedImage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Image of a container; null: that side has no such container."""

    object: ObjectName
    container: str
    old: str | None
    new: str | None


class PlannedHook(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`is_changed`: the installed content does not have it so."""

    object: str
    events: list[str]
    is_changed: bool


class Statement(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    object: str
    text: str


class Sides(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Digests or names of what is installed and of what is wanted; empty: there is none."""

    old: str = ""
    new: str = ""


class UpgradeDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`why`: why it waits or is refused. `left_out`: lines of any list that are not in it, by the list's name.

    `irreversible`: what going back does not undo.
    """

    deployment: str
    state: str
    why: list[str] = []
    bundle: str = ""
    version: Sides = Sides()
    content: Sides = Sides()
    options: Sides = Sides()
    from_revision: int = 0
    digest: str = ""
    verdict: str = ""
    approved: str = ""
    reviews: list[str] = []
    counts: dict[str, int] = {}
    objects: list[PlannedObject] = []
    images: list[ChangedImage] = []
    rights_gained: list[str] = []
    rights_lost: list[str] = []
    crds: list[Statement] = []
    hooks: list[PlannedHook] = []
    skips_hooks: bool = False
    irreversible: list[str] = []
    left_out: dict[str, int] = {}

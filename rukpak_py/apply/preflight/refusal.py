"""Why nothing is written, what kind of failure that is, and whose change ends it."""

from dataclasses import dataclass

from rukpak_py.apply.results import Failure, FailureKind
from rukpak_py.apply.wakes import NO_WAKES, Wakes
from rukpak_py.core.objects import ObjectKey


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Of the content as a whole. `brief`: one line instead of the message where there is room for one only; empty: the
    message's first.
    """

    kind: FailureKind
    message: str
    brief: str = ""
    wakes: Wakes = NO_WAKES


@dataclass(frozen=True, kw_only=True, slots=True)
class RefusedObjects:
    """Of single objects, each with its own statement."""

    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class OwnerIsGone:
    """The deployment itself is gone: nothing is written, and there is nothing to be said."""


@dataclass(frozen=True, slots=True)
class Untried:
    """Not refused so far: the server answers slowly, and has yet to say what it thinks of these."""

    keys: tuple[ObjectKey, ...]


AnyRefusal = Refusal | RefusedObjects | OwnerIsGone | Untried

"""What came of a step at one event, before it is said in the words of an installation or of a deletion."""

from dataclasses import dataclass

from rukpak_py.apply.preflight.refusal import Refusal


@dataclass(frozen=True, kw_only=True, slots=True)
class Running:
    """A hook is being run; the end of its job brings the key back."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LookAgain:
    """What is known changes at this moment: the next step is for the next reconcile. `after`: seconds until then."""

    after: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class NotRun:
    """A hook could not be run; it is tried again."""

    refusal: Refusal


@dataclass(frozen=True, kw_only=True, slots=True)
class HooksFailed:
    """A hook has failed; it is run again when somebody asks."""

    text: str


Unfinished = Running | LookAgain | NotRun | HooksFailed

"""A gate as a value: its name, when it is asked, and the function that decides."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from rukpak_py.apply.preflight.candidate import Candidate
from rukpak_py.apply.preflight.refusal import AnyRefusal

Ask: TypeAlias = Callable[[Candidate], Awaitable[AnyRefusal | None]]


class GatePhase(Enum):
    CONTENT = auto()  # before looking
    PLAN = auto()  # after looking
    DRY_RUN = auto()  # after fields that the content drops are released


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    name: str
    phase: GatePhase
    ask: Ask
    costs_calls: bool = True
    holds: bool = False  # content that has passed it is not asked again


def without_calls(name: str, phase: GatePhase, decide: Callable[[Candidate], AnyRefusal | None]) -> Gate:
    """A gate that is decided by what is known already."""

    async def ask(candidate: Candidate) -> AnyRefusal | None:
        return decide(candidate)

    return Gate(name=name, phase=phase, ask=ask, costs_calls=False)

"""States as they are painted, and counts of them."""

from collections import Counter
from collections.abc import Iterable, Mapping

from rukpak_py.cli.reports.columns import Cell
from rukpak_py.core.text import counted
from rukpak_py.diagnosis.model import State

_COLOURS: Mapping[State, tuple[str, ...]] = {
    State.STALLED: ("red", "bold"),
    State.FAILED: ("red",),
    State.PROGRESSING: ("yellow",),
    State.UNKNOWN: ("yellow",),
    State.DELETING: ("yellow",),
    State.SUSPENDED: ("cyan",),
    State.READY: ("green",),
}


def colours_of(state: State) -> tuple[str, ...]:
    return _COLOURS[state]


def cell_of(state: State) -> Cell:
    return Cell(state.value, _COLOURS[state])


def summary(states: Iterable[State], noun: str) -> str:
    """`3 BundleDeployments: 1 failed, 2 ready`, the worst first."""
    found = Counter(states)
    listed = ", ".join(f"{found[state]} {state.value}" for state in State if found[state])
    return f"{counted(found.total(), noun)}: {listed}" if found else f"no {noun}s"

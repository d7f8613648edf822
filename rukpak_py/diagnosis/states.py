"""States of deployments, Bundles and objects."""

from enum import StrEnum


class State(StrEnum):
    """State of a deployment, a Bundle or an object, the worst first."""

    STALLED = "stalled"  # nothing happens until the spec or the content changes
    FAILED = "failed"
    PROGRESSING = "in progress"
    UNKNOWN = "unknown"  # no operator has looked at it
    DELETING = "deleting"
    SUSPENDED = "suspended"
    READY = "ready"

    @property
    def rank(self) -> int:
        """Smaller is worse."""
        return _RANKS[self]

    @property
    def is_at_rest(self) -> bool:
        return self in {State.READY, State.SUSPENDED}


_RANKS = {state: rank for rank, state in enumerate(State)}

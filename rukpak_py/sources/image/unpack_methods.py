"""Which way an image goes: straight from its registry, or by a pod; and for how long that is remembered.

`auto` asks the registry first. A pod is tried where the registry is not for us but may be for the node: it cannot be
reached, fails in TLS, or answers 401, 403, 404, or 429 to the last try. Never for a limit, a digest that does not
match, a bad archive, or an address that is refused: a pod would only hide what is wrong.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from time import monotonic
from typing import Final

from rukpak_py.core.errors import AccessError, RukPakError, UnavailableError

_REMEMBERED_SECONDS: Final = 600.0


class ImageUnpack(StrEnum):
    """The setting of this name."""

    AUTO = "auto"
    DIRECT = "direct"
    POD = "pod"


class OutOfReachError(UnavailableError):
    """The registry cannot be reached from here, or has nothing for us. From a node it may be otherwise."""


def may_help(error: RukPakError) -> bool:
    """Whether a pod may succeed where this happened."""
    return isinstance(error, AccessError | OutOfReachError)


@dataclass(frozen=True, kw_only=True)
class _Known:
    cause: str
    until: float


class PodFallbacks:
    """What goes by pods, a registry or one image, and what came of asking directly."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._known: dict[str, _Known] = {}

    def remember(self, what: str, cause: str) -> None:
        now = self._clock()
        self._known = {name: known for name, known in self._known.items() if known.until > now}
        self._known[what] = _Known(cause=cause, until=now + _REMEMBERED_SECONDS)

    def forget(self, *names: str) -> None:
        for name in names:
            self._known.pop(name, None)

    def cause(self, what: str) -> str | None:
        """Why it goes by pods at the moment; None when it does not."""
        known = self._known.get(what)
        return known.cause if known is not None and known.until > self._clock() else None

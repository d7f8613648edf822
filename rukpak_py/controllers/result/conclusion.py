"""Arguments of `conclude` about the key, beside the results of the stages, and its answer."""

import asyncio
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Generic, TypeVar

from rukpak_py.api.bundle import BundleStatus
from rukpak_py.api.bundle_deployment import BundleDeploymentStatus
from rukpak_py.api.bundle_instance import BundleInstanceStatus
from rukpak_py.controllers.events import EventNote
from rukpak_py.controllers.queue import SETTLED, Schedule, Turn
from rukpak_py.core.objects import ObjectKey

AnyStatus = BundleStatus | BundleDeploymentStatus | BundleInstanceStatus
Status = TypeVar("Status", bound=AnyStatus)


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyFacts:
    """`bundle`: name of the Bundle of the template. `asked`: the latest request to reconcile."""

    generation: int
    bundle: str = ""
    is_deleted: bool = False
    asked: str = ""
    turn: Turn = field(default_factory=Turn)


@dataclass(frozen=True, kw_only=True, slots=True)
class Clock:
    """One moment: of the loop, for times of the queue, and in seconds since 1970, for times in the status."""

    loop: float
    wall: float

    def timestamp(self, seconds_ago: float = 0.0) -> str:
        return f"{datetime.fromtimestamp(self.wall - seconds_ago, UTC):%Y-%m-%dT%H:%M:%SZ}"

    def seconds_since(self, timestamp: str) -> float:
        """0 for what is no time: the API takes leap seconds, and zones of 24 hours."""
        try:
            return max(0.0, self.wall - datetime.fromisoformat(timestamp).timestamp())
        except ValueError:
            return 0.0


def read_clock() -> Clock:
    return Clock(loop=asyncio.get_running_loop().time(), wall=time.time())


@dataclass(frozen=True, kw_only=True, slots=True)
class Conclusion(Generic[Status]):
    """`happened` is told at once, `events` when the status is written: the pace of writes may postpone them.

    `wakes`: objects whose change brings the key back for an attempt; without a name any of the kind, there.
    """

    status: Status
    happened: tuple[EventNote, ...] = ()
    events: tuple[EventNote, ...] = ()
    schedule: Schedule = SETTLED
    wakes: frozenset[ObjectKey] = field(default_factory=frozenset)

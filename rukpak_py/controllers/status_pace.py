"""How often a status is written: the first change after a quiet second at once, later ones at the end of it."""

from collections import OrderedDict
from collections.abc import Callable

WRITE_INTERVAL_SECONDS = 1.0


class StatusPace:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._written_at: OrderedDict[str, float] = OrderedDict()  # by uid, the latest last

    def due(self, uid: str) -> float:
        """When the next one may be written; it may be in the past."""
        return self._written_at.get(uid, float("-inf")) + WRITE_INTERVAL_SECONDS

    def written(self, uid: str) -> None:
        """What is older than the interval says nothing any more."""
        now = self._clock()
        self._written_at[uid] = now
        self._written_at.move_to_end(uid)
        while self._written_at and now - next(iter(self._written_at.values())) >= WRITE_INTERVAL_SECONDS:
            self._written_at.popitem(last=False)

    def forget(self, uid: str) -> None:
        self._written_at.pop(uid, None)

"""The pace of repairs: what another client undoes as often as it is repaired is left alone for a while.

Each object is repaired at full speed a few times, and once in `rest` seconds from then on. Only twice as long without
a repair gives it its full speed back: with a clean slate after each rest the fight would go on in bursts. Where a
repair must not wait for a slow opponent, only repairs `within` some seconds count.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from math import inf

from rukpak_py.core.objects import ObjectKey

REPAIRS = 5  # of one object before the first rest
REST_SECONDS = 60.0


class RepairBackoff:
    def __init__(self, *, repairs: int = REPAIRS, rest: float = REST_SECONDS, within: float = inf) -> None:
        self._limit = repairs
        self._within = within
        self._rest = rest
        self._repairs: dict[ObjectKey, deque[float]] = {}
        self.reported: frozenset[ObjectKey] = frozenset()
        self.managers: Mapping[ObjectKey, Sequence[str]] = {}  # who undoes what was reported, as was found once

    def repaired(self, keys: Iterable[ObjectKey], now: float) -> None:
        for key in keys:
            self._repairs.setdefault(key, deque(maxlen=self._limit)).append(now)

    def resting(self, keys: Iterable[ObjectKey], now: float) -> frozenset[ObjectKey]:
        """The objects that are left alone for now."""
        quiet = {key for key, times in self._repairs.items() if now - times[-1] >= 2 * self._rest}
        for key in quiet:
            del self._repairs[key]
        self.reported -= quiet  # the managers of the next conflict are asked for anew
        return frozenset(key for key in keys if self._rest_end(key, now) > now)

    def rests_until(self, key: ObjectKey, now: float) -> float | None:
        """None: it may be repaired now."""
        return self._rest_end(key, now) if self.resting([key], now) else None

    def is_reported(self, keys: frozenset[ObjectKey]) -> bool:
        return keys <= self.reported

    def report(self, keys: frozenset[ObjectKey], managers: Mapping[ObjectKey, Sequence[str]]) -> None:
        self.reported = keys
        self.managers = {key: found for key, found in managers.items() if key in keys}

    def _rest_end(self, key: ObjectKey, now: float) -> float:
        times = self._repairs.get(key)
        if times is None or len(times) < self._limit or now - times[0] >= self._within:
            return -inf
        return times[-1] + self._rest

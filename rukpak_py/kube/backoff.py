"""How long to wait before the next try: doubling, bounded, with full jitter so that many do not come back together."""

import random
from collections.abc import Callable


class Backoff:
    def __init__(self, *, first: float, limit: float, chance: Callable[[], float] = random.random) -> None:
        self._first = first
        self._limit = limit
        self._chance = chance
        self._failures = 0

    @property
    def failures(self) -> int:
        return self._failures

    def next(self, at_least: float | None = None) -> float:
        """The wait after one more failure: between half and all of the doubled time, and at least `at_least`."""
        whole = min(self._limit, self._first * float(1 << min(self._failures, 30)))
        self._failures += 1
        return (at_least or 0.0) + whole * (0.5 + 0.5 * self._chance())

    def reset(self) -> None:
        self._failures = 0

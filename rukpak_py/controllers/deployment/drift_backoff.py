"""Objects that another client changes as often as they are reverted.

They are corrected at full speed a few times, and once a minute from then on, until two minutes are quiet.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from rukpak_py.core.objects import ObjectKey

DRIFT_BACKOFF_SECONDS = 60.0  # between two corrections of what another client changes again and again
CORRECTIONS_BEFORE_BACKOFF = 5  # of one object, none two minutes after the one before


class DriftBackoff:
    def __init__(self) -> None:
        self._corrections: dict[ObjectKey, deque[float]] = {}
        self.managers: Mapping[
            ObjectKey, Sequence[str]
        ] = {}  # who changes those that are left alone, as was found once
        self._reported: frozenset[ObjectKey] = frozenset()

    def corrected(self, keys: Iterable[ObjectKey], now: float) -> None:
        for key in keys:
            self._corrections.setdefault(key, deque(maxlen=CORRECTIONS_BEFORE_BACKOFF)).append(now)

    def resting(self, keys: Iterable[ObjectKey], now: float) -> frozenset[ObjectKey]:
        """Those that are left alone for now.

        A minute after the last correction one more is allowed. Only two quiet minutes end it: with a clean slate after
        each pause the fight would go on in bursts.
        """
        if not self._corrections:
            return frozenset()
        quiet = {key for key, times in self._corrections.items() if now - times[-1] >= 2 * DRIFT_BACKOFF_SECONDS}
        for key in quiet:
            del self._corrections[key]
        self._reported -= quiet  # who makes the next conflict is asked anew
        return frozenset(key for key in keys if self._is_resting(key, now))

    def is_reported(self, keys: frozenset[ObjectKey]) -> bool:
        return keys <= self._reported

    def report(self, keys: frozenset[ObjectKey], managers: Mapping[ObjectKey, Sequence[str]]) -> None:
        self._reported, self.managers = keys, managers

    def _is_resting(self, key: ObjectKey, now: float) -> bool:
        times = self._corrections.get(key) or deque()
        return len(times) == CORRECTIONS_BEFORE_BACKOFF and now - times[-1] < DRIFT_BACKOFF_SECONDS

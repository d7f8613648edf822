"""Who undoes again and again what was repaired is answered once a minute, not in a hot loop."""

from collections import deque
from datetime import datetime, timedelta

from rukpak_py.core.objects import ObjectKey

REPAIRS = 5  # of one object at full speed, none two minutes after the one before
REST = timedelta(seconds=60)


class RepairPace:
    def __init__(self) -> None:
        self._repairs: dict[ObjectKey, deque[datetime]] = {}
        self.managers: dict[ObjectKey, tuple[str, ...]] = {}  # who undoes them, as was found once

    def repaired(self, key: ObjectKey, now: datetime) -> None:
        self._repairs.setdefault(key, deque(maxlen=REPAIRS)).append(now)

    def rests_until(self, key: ObjectKey, now: datetime) -> datetime | None:
        """None: it may be repaired now. Only two quiet minutes give it its full speed back."""
        times = self._repairs.get(key)
        if times is None:
            return None
        if now - times[-1] >= 2 * REST:
            del self._repairs[key]
            self.managers.pop(key, None)  # who makes the next conflict is asked anew
            return None
        until = times[-1] + REST
        return until if len(times) == REPAIRS and now < until else None

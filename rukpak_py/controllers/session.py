"""What this process knows of one deployment between two reconciles. Losing it costs calls, never correctness."""

import hashlib
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rukpak_py.apply.live import Live
from rukpak_py.apply.memory import Memory
from rukpak_py.core.objects import ObjectKey

FIGHT = 60.0  # seconds: what goes again within this time may be going because its owner is gone
CORRECTIONS = 5  # of one object, none two minutes after the one before: then it is a fight


@dataclass(slots=True)
class Session:
    memory: Memory = field(default_factory=Memory)
    bundle: str = ""  # the Bundle of the template as it was at the last look
    settled_on: tuple[str, ...] = ()  # content and options of which everything was applied
    retired: set[ObjectKey] = field(default_factory=set)  # names of former content; looked up before pruning ends
    looked_back: bool = False  # whether names of content that an earlier process installed were added to them
    waiting_since: dict[str, float] = field(default_factory=dict)  # by what is waited for
    contested: frozenset[ObjectKey] = frozenset()  # refused at the last try, because they were somebody else's
    corrections: dict[ObjectKey, deque[float]] = field(default_factory=dict)  # when each was put back
    created_at: dict[ObjectKey, float] = field(default_factory=dict)
    unfinished: dict[ObjectKey, str] = field(default_factory=dict)  # uids of what a first install has created so far

    def is_as_applied(self, owned: Mapping[ObjectKey, Live]) -> bool:
        """Nothing is missing, nothing is extra, and nobody changed a field of ours."""
        fields = self.memory.fields
        return len(owned) == len(fields) and all(
            fields.get(key) == live.fields and not live.is_deleted for key, live in owned.items()
        )

    def waited(self, what: str, now: float) -> float:
        """How long this has been waited for, from its first call on."""
        return now - self.waiting_since.setdefault(what, now)

    def no_longer_waits(self, *what: str) -> None:
        for one in what:
            self.waiting_since.pop(one, None)

    def put_back(self, keys: Iterable[ObjectKey], now: float) -> None:
        """These were corrected after a foreign change."""
        for key in keys:
            self.corrections.setdefault(key, deque(maxlen=CORRECTIONS)).append(now)

    def fought_over(self, keys: Iterable[ObjectKey], now: float) -> frozenset[ObjectKey]:
        """Those that were corrected so often lately that somebody must be insisting.

        A minute later one more correction is allowed. Only two quiet minutes end the fight: with a clean slate after
        each pause it would go on in bursts.
        """
        for key in [key for key, times in self.corrections.items() if now - times[-1] >= 2 * FIGHT]:
            del self.corrections[key]
        return frozenset(key for key in keys if self._is_resting(key, now))

    def _is_resting(self, key: ObjectKey, now: float) -> bool:
        times = self.corrections.get(key) or deque()
        return len(times) == CORRECTIONS and now - times[-1] < FIGHT

    def went_again(self, keys: Iterable[ObjectKey], now: float) -> bool:
        """Something that we put back a moment ago is gone again."""
        return any(now - self.created_at.get(key, float("-inf")) < FIGHT for key in keys)

    def created_again(self, keys: Iterable[ObjectKey], now: float) -> None:
        recent = {key: at for key, at in self.created_at.items() if now - at < FIGHT}
        self.created_at = {**recent, **dict.fromkeys(keys, now)}


def applied_digest(owned: Iterable[Live], settled_on: tuple[str, ...]) -> str:
    """One hash over what was applied and what the server made of it: after a restart it tells drift from one list."""
    digest = hashlib.sha256(repr(settled_on).encode())
    for live in sorted(owned, key=lambda live: live.key):
        digest.update(repr((*live.key, live.applied, live.fields)).encode())
    return "sha256:" + digest.hexdigest()

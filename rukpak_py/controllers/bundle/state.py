"""Memory of this process about a Bundle between two looks. Losing it costs calls, never correctness.

Whether the content of a pinned Bundle is stored, as far as this process knows, is a state of its own:

    UNKNOWN ──► PRESENT                 looked at, or unpacked just now
       │           │  the slow pass
       └─► DOUBTFUL ◄──────────┐        to be looked at, and fetched where it is lost; two Bundles at a time
               │ lost          │ the next look
               └─► REFILLING ──┴─► REFILL_WAITS      a job fetches it; a node pulls the image

A refill that fails, or is not needed any more, leads back to UNKNOWN: no client waits for it, so the failure is a note
of the status, and the next slow pass tries again.
"""

from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum, auto

from rukpak_py.controllers.result.progress import Fact

REMEMBERED_UIDS = 4096


class ContentPresence(Enum):
    UNKNOWN = auto()
    PRESENT = auto()
    DOUBTFUL = auto()
    REFILLING = auto()
    REFILL_WAITS = auto()


@dataclass(slots=True)
class BundleState:
    stored: ContentPresence = ContentPresence.UNKNOWN
    is_requested: bool = False  # the content of a pinned Bundle is needed and was not there
    awaited: tuple[Fact, ...] = ()  # what was found of the image that it waits for; looks say it again
    refused_since: float | None = None  # loop time since when the registry refuses what a node is to pull
    is_waiting: bool = False  # its last job ended because a node pulls the image; news of it start another
    has_news: bool = False  # of that node, since the job began
    checked_for: str | None = None  # the class of the deployment that the last job checked the content for
    installed: str = ""  # digest of what its deployment has installed by its name: nothing else is accepted
    named: str = ""  # digest that its template names: nothing else is accepted, and it is checked like any content
    is_outdated: bool = False  # other content was uploaded since the job began
    refill_failure: str = ""  # why the last refill failed, until the content is present


class BundleStates:
    def __init__(self) -> None:
        self._states: dict[str, BundleState] = {}
        self._ended: OrderedDict[str, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._states)

    def of(self, uid: str) -> BundleState:
        """State of the Bundle; for one that is gone a new state, which is not kept."""
        if uid in self._ended:
            return BundleState()
        return self._states.setdefault(uid, BundleState())

    def reset(self, uid: str) -> None:
        self._states.pop(uid, None)

    def end(self, uid: str) -> None:
        """The Bundle is gone."""
        self.reset(uid)
        self._ended[uid] = None
        if len(self._ended) > REMEMBERED_UIDS:
            self._ended.popitem(last=False)

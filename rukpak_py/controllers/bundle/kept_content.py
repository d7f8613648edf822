"""The content of unpacked Bundles: linked while it is stored, and fetched again where it is lost.

The slow pass doubts all of it, and two Bundles at a time are looked at and filled again. A refill serves no client that
waits, so its failure is a note beside the status. `ContentPresence` has the states.
"""

import logging
from collections.abc import Callable

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.names import Reason
from rukpak_py.controllers.bundle.pinning import Pinning, is_pinned
from rukpak_py.controllers.bundle.state import BundleState, BundleStates, ContentPresence
from rukpak_py.controllers.ports import Content
from rukpak_py.controllers.result.bundle_details import ContentMissing
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import NO_PROGRESS, Fact, Progress
from rukpak_py.core.logs import LASTING

LOG = logging.getLogger(__name__)
REFILLS_AT_ONCE = 2  # of lost content that no client waits for


class KeptContent:
    def __init__(
        self,
        content: Content,
        pinning: Pinning,
        states: BundleStates,
        *,
        start: Callable[[Bundle], None],
        wake: Callable[[str], None],
    ) -> None:
        """`start`: begin the job that fetches the content of this Bundle."""
        self._content = content
        self._pinning = pinning
        self._states = states
        self._start = start
        self.refills = Refills(wake)

    def doubt(self, bundle: Bundle) -> None:
        self._states.of(bundle.metadata.uid).stored = ContentPresence.DOUBTFUL
        self.refills.doubt(bundle.metadata.uid, bundle.metadata.name)

    def is_unasked(self, bundle: Bundle) -> bool:
        """Whether the Bundle is unpacked and only the slow pass looks for its content."""
        return is_pinned(bundle) and not self._states.of(bundle.metadata.uid).is_requested

    def present(self, uid: str) -> None:
        state = self._states.of(uid)
        state.stored, state.refill_failure, state.refused_since = ContentPresence.PRESENT, "", None
        self.refills.end(uid)

    async def look(self, bundle: Bundle) -> Progress | None:
        """See to the link of a pinned Bundle. None: its content is there; no call in the usual case."""
        state, running = self._states.of(bundle.metadata.uid), NO_PROGRESS
        if state.stored is ContentPresence.REFILL_WAITS:
            state.stored = ContentPresence.DOUBTFUL
        if state.stored is not ContentPresence.PRESENT:
            running = await self._look_for_content(bundle, state)
        if state.stored is not ContentPresence.PRESENT:
            return running + await self._without_content(bundle, state)
        return None

    async def refill_failed(self, bundle: Bundle, failure: Fact) -> Progress:
        text = f"the content cannot be stored or fetched again yet: {failure.text}"
        LASTING.tell(LOG, logging.INFO, Reason.UNPACK_FAILED, text)
        state = self._states.of(bundle.metadata.uid)
        state.stored, state.refill_failure = ContentPresence.UNKNOWN, failure.text
        return await self._without_content(bundle, state)

    async def _without_content(self, bundle: Bundle, state: BundleState) -> Progress:
        """Report lost content. The report of another process stays until this one has tried to fetch it."""
        is_told = any(note.reason == Cause.CONTENT_MISSING for note in bundle.status.notes)
        if is_told and not state.refill_failure:
            return NO_PROGRESS
        recorded = await self._pinning.as_recorded(bundle)
        if not state.refill_failure:
            return recorded
        missing = Fact(cause=Cause.CONTENT_MISSING, detail=ContentMissing(why=state.refill_failure))
        return recorded + Progress(facts=(missing,))

    async def _look_for_content(self, bundle: Bundle, state: BundleState) -> Progress:
        uid, is_doubtful = bundle.metadata.uid, state.stored is ContentPresence.DOUBTFUL
        if await self._pinning.is_stored(bundle):
            await self._pinning.link(bundle, bundle.status.digest)
            self.present(uid)
            return NO_PROGRESS
        await self._content.unlink(bundle.metadata.name)
        if not is_doubtful:
            state.stored = ContentPresence.UNKNOWN
            return NO_PROGRESS
        if not self.refills.take_place(uid):
            return NO_PROGRESS  # it stays doubtful, and its turn comes
        state.stored = ContentPresence.REFILLING
        self._start(bundle)
        self.refills.looked_at(uid)
        return Progress(facts=(Fact(cause=Cause.JOB_RUNNING),))


class Refills:
    """Turns of Bundles to be looked at and fetched again: a lost store does not flood the servers with requests."""

    def __init__(self, wake: Callable[[str], None]) -> None:
        self._wake = wake
        self._doubtful: dict[str, str] = {}  # names by uid, in the order of their turns
        self._places: set[str] = set()

    def doubt(self, uid: str, name: str) -> None:
        self._doubtful[uid] = name
        self._wake(name)

    def take_place(self, uid: str) -> bool:
        """Whether the Bundle has one of the places now."""
        if uid not in self._places and len(self._places) >= REFILLS_AT_ONCE:
            return False
        self._places.add(uid)
        return True

    def looked_at(self, uid: str) -> None:
        """Give the next one its turn: the Bundle is doubtful no more."""
        self._doubtful.pop(uid, None)
        self._wake_next()

    def end(self, uid: str) -> None:
        """Free the place of the Bundle, if it had one."""
        self._doubtful.pop(uid, None)
        if uid in self._places:
            self._places.discard(uid)
            self._wake_next()

    def _wake_next(self) -> None:
        if self._doubtful and len(self._places) < REFILLS_AT_ONCE:
            self._wake(next(iter(self._doubtful.values())))

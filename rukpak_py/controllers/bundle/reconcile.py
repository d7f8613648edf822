"""The life of a Bundle: fetched once, checked, stored, pinned.

* A pinned Bundle costs no call at all. Its content may be lost (an emptyDir is); it is fetched again from where it
  was found once it is asked for, and accepted only with the same digest. Nothing moves with a tag.
* Which content a Bundle has says a record of ours, not the status (see `pinning`). Without a record (it was lost with
  the store, or an older release kept none) the content counts as lost, whatever is stored: it is fetched again,
  accepted only with the digest of the status, and recorded. The record is written before the status, so after a crash
  in between the status is written from it.
* A store that cannot be written is a condition of the Bundles that need it, and is tried again.
* Fetching happens in jobs; a look starts one, or takes its result. Each look comes to a `Progress`, of which `conclude`
  makes the status, the Events and the times of the Bundle.
* Where a job can only wait for another party (a node that pulls an image), it ends, and what happens there (`news`)
  starts another one.
* A job begins at an attempt only (see `Queue`): a source that fails is asked again after its pause, or when what it
  failed for changes, whatever else brings the Bundle back meanwhile.
* Bundles have no finalizer of ours. Content is swept, not owned.
"""

import logging
from collections.abc import Callable, Collection

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.names import UPSTREAM_BUNDLE_FINALIZER, Reason, is_unknown_class
from rukpak_py.content.disk import StoreUnavailableError
from rukpak_py.content.records import BundleRecord
from rukpak_py.controllers.bundle.awaited_image import still_told, told_of_image
from rukpak_py.controllers.bundle.kept_content import KeptContent
from rukpak_py.controllers.bundle.pinning import Pinning, RecordSituation, is_pinned
from rukpak_py.controllers.bundle.state import BundleStates, ContentPresence
from rukpak_py.controllers.bundle.unpacking import PERSIST, ImageAwaited, Result, Unpacked, UnpackJobs, fetch_failed
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.events import Recorder
from rukpak_py.controllers.ports import Content
from rukpak_py.controllers.queue import SETTLED, Schedule, Turn
from rukpak_py.controllers.result.bundle_details import (
    OtherContentFound,
    OtherThanInstalled,
    OtherThanNamed,
    UnknownClass,
    Unpacking,
    UploadLost,
)
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclude import conclude
from rukpak_py.controllers.result.conclusion import Clock, KeyFacts, read_clock
from rukpak_py.controllers.result.progress import NO_PROGRESS, Detail, Fact, Progress
from rukpak_py.controllers.writes import StatusWriter, WriteResult, remove_finalizer
from rukpak_py.core.logs import LASTING
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import BUNDLES

LOG = logging.getLogger(__name__)


class BundleReconciler:
    def __init__(
        self,
        *,
        client: Client,
        bundles: Cache[Bundle],
        jobs: UnpackJobs,
        content: Content,
        pinning: Pinning,
        writer: StatusWriter[Bundle],
        events: Recorder,
        states: BundleStates,
        classes: Collection[str],
        look: Callable[[str], None],
        wake: Callable[[str], None],
        on_news: Callable[[Bundle], None],
        clock: Callable[[], Clock] = read_clock,
    ) -> None:
        """`look`: bring the Bundle of this name back. `wake`: the same, for an attempt.

        `on_news` is called when its status has changed, or its content, which was asked for, is there again.
        """
        self._client = client
        self._bundles = bundles
        self._jobs = jobs
        self._content = content
        self._pinning = pinning
        self._writer = writer
        self._events = events
        self._states = states
        self._classes = classes
        self._look = look
        self._wake = wake
        self._on_news = on_news
        self._clock = clock
        self._kept = KeptContent(content, pinning, states, start=self._start, wake=wake)

    def request_content(self, bundle: Bundle) -> None:
        """The content of this pinned Bundle is needed and not there: fetch it again."""
        if not bundle.metadata.uid:
            return  # it is gone, and only the history of its deployment knows it
        if self._pinning.situation(bundle) is RecordSituation.CONTRADICTED:
            return  # a fetch changes nothing: its status has to be restored
        state = self._states.of(bundle.metadata.uid)
        if not state.is_requested:  # else it is on its way, or its next attempt has its time
            state.is_requested = True
            self._wake(bundle.metadata.name)

    def check_content(self) -> None:
        """Look at every pinned Bundle's content; what is lost is fetched again, two at a time: no server is stormed."""
        for bundle in self._bundles:
            if is_pinned(bundle) and bundle.spec.provisioner_class in self._classes:
                self._kept.doubt(bundle)

    def deployment_changed(self, uid: str) -> None:
        """Wake the Bundles that are judged anew: content can be wrong for one class and right for another."""
        for bundle in self._bundles.controlled_by(uid):
            if not bundle.status.digest and self._jobs.is_judged_anew(bundle):
                self._wake(bundle.metadata.name)

    def news(self, name: str) -> None:
        """Something happened to what the content of this Bundle may come from.

        A Bundle that waits for it is woken. One that has failed is only looked at: what its attempt leaves behind, such
        as the end of its pod, would start the next attempt at once, for ever. One that is unpacked may have lost the
        pod that is kept for it.
        """
        bundle = self._bundles.get(name)
        if bundle is None:
            return
        state = self._states.of(bundle.metadata.uid)
        state.has_news = True
        (self._wake if state.is_waiting else self._look)(name)

    async def reconcile(self, name: str, turn: Turn) -> Schedule:
        bundle = self._bundles.get(name)
        if bundle is None:
            await self._content.unlink(name)
            return SETTLED
        state = self._states.of(bundle.metadata.uid)
        was_requested = state.is_requested
        async with self._jobs.turns.of(bundle.metadata.uid):
            try:
                progress = await self._progress(bundle, turn)
            except StoreUnavailableError as error:
                progress = self._without_store(bundle, fetch_failed(error, f"{PERSIST}{error}"))
            key = KeyFacts(generation=bundle.metadata.generation, turn=turn)
            conclusion = conclude(bundle.status, progress, NO_PROGRESS, key, self._clock())
            events = self._events.about(bundle)
            events.emit(conclusion.happened)
            written = await self._writer.write(bundle, conclusion.status)
            if written.result is WriteResult.WRITTEN:
                events.emit(conclusion.events)
            if written.error is not None:
                raise written.error
        if written.result is WriteResult.WRITTEN or (was_requested and not state.is_requested):
            self._on_news(self._bundles.get(name) or bundle)
        return conclusion.schedule

    async def _progress(self, bundle: Bundle, turn: Turn) -> Progress:
        if bundle.metadata.is_deleted:
            return await self._release(bundle)
        if bundle.spec.provisioner_class not in self._classes:
            self._reset(bundle)
            return _of_unknown_class(bundle)
        if (recorded := await self._by_record(bundle)) is not None:
            return recorded
        result = self._jobs.take(bundle)
        if _is_refused(result) and self._jobs.is_judged_anew(bundle):
            result = None  # judged for a class that its deployment does not have any more
        if result is not None:
            return await self._of_result(bundle, result)
        if self._jobs.is_running(bundle):
            return self._unpacking(bundle)
        if self._kept.is_unasked(bundle):
            lost = await self._kept.look(bundle)
            if lost is not None:
                return lost
            await self._jobs.clean_up(bundle)
            return await self._pinning.as_recorded(bundle)  # its spec may have been changed past the webhook
        self._kept.refills.looked_at(bundle.metadata.uid)
        if not turn.is_attempt:
            return _about(*still_told(bundle, self._states), Fact(cause=Cause.NOT_DUE))
        await self._content.unlink(bundle.metadata.name)  # of a former Bundle of this name, or its own, which is lost
        self._start(bundle)
        return self._unpacking(bundle)

    async def _by_record(self, bundle: Bundle) -> Progress | None:
        """Reconcile a status that lacks or contradicts the record. None: they agree, or content must be fetched."""
        uid, record = bundle.metadata.uid, self._pinning.record_of(bundle)
        match self._pinning.situation(bundle), record:
            case RecordSituation.CONTRADICTED, BundleRecord():
                self._reset(bundle)
                return await self._pinning.contradiction(bundle, record)
            case RecordSituation.NOT_PINNED, BundleRecord() if await self._pinning.is_stored(bundle):
                self._settle(uid)
                return await self._pinning.pin_again(bundle, record)
            case RecordSituation.NO_RECORD, None if (adopted := await self._pinning.adopt(bundle)) is not None:
                self._settle(uid)
                return await self._pinning.pin_again(bundle, adopted)
            case _:
                return None

    def uploaded(self, bundle: Bundle) -> None:
        """Content was stored for this Bundle, in its turn: unpack it now."""
        self._jobs.outdate(bundle.metadata.uid)
        self._states.of(bundle.metadata.uid).is_requested = True
        self._wake(bundle.metadata.name)

    def gone(self, bundle: Bundle) -> None:
        """The Bundle was deleted."""
        self._reset(bundle)
        self._states.end(bundle.metadata.uid)

    async def close(self) -> None:
        await self._jobs.close()

    def _reset(self, bundle: Bundle) -> None:
        """Forget the content of the Bundle: it is no concern of this process for now."""
        self._jobs.drop(bundle)
        self._states.reset(bundle.metadata.uid)
        self._kept.refills.end(bundle.metadata.uid)

    def _start(self, bundle: Bundle) -> None:
        state = self._states.of(bundle.metadata.uid)
        state.is_waiting = state.has_news = False
        self._jobs.start(bundle)

    def _unpacking(self, bundle: Bundle) -> Progress:
        """Told once: a Bundle that fails again and again does not flicker between two phases."""
        running = _about(*still_told(bundle, self._states), Fact(cause=Cause.JOB_RUNNING))
        if bundle.status.phase:
            return running
        since = self._clock().loop - self._jobs.seconds(bundle)
        detail = Unpacking(source=bundle.spec.source.type)
        return running + _about(Fact(cause=Cause.UNPACKING, detail=detail, since=since))

    async def _of_result(self, bundle: Bundle, result: Result) -> Progress:
        is_coming = isinstance(result, ImageAwaited) and result.pod.cause is Cause.IMAGE_COMING
        if not is_coming:  # while nothing bad is known of its pod it keeps its place
            self._kept.refills.end(bundle.metadata.uid)
        if not isinstance(result, ImageAwaited):
            self._states.of(bundle.metadata.uid).awaited = ()
        match result:
            case Unpacked():
                return await self._unpacked(bundle, result)
            case Fact(cause=Cause.UPLOAD_PENDING):
                pinned = self._jobs.pinned_digest(bundle)
                return _about(Fact(cause=Cause.CONTENT_LOST, detail=UploadLost(unpacked=pinned)) if pinned else result)
            case ImageAwaited():
                return self._awaits_image(bundle, result)
            case Fact():
                return await self._failed(bundle, result)

    async def _unpacked(self, bundle: Bundle, found: Unpacked) -> Progress:
        pinned = self._jobs.pinned_digest(bundle)
        if pinned and found.digest != pinned:
            await self._jobs.clean_up(bundle)  # what it was read from is not to be read again
            return _about(Fact(cause=Cause.CONTENT_CHANGED, detail=self._other_than(bundle, found.digest)))
        progress = await self._pinning.pin(bundle, found)
        self._settle(bundle.metadata.uid)
        await self._jobs.clean_up(bundle)
        return progress

    def _other_than(self, bundle: Bundle, found: str) -> Detail:
        if unpacked := self._jobs.unpacked_digest(bundle):
            return OtherContentFound(found=found, unpacked=unpacked)
        if installed := self._jobs.accepted_digest(bundle):
            return OtherThanInstalled(found=found, installed=installed)
        return OtherThanNamed(found=found, named=self._jobs.pinned_digest(bundle))

    def _settle(self, uid: str) -> None:
        """Note that the content is present."""
        state = self._states.of(uid)
        state.is_requested = False
        self._kept.present(uid)

    def _awaits_image(self, bundle: Bundle, found: ImageAwaited) -> Progress:
        """Wait for news of the node, which wakes the Bundle, also when it came while the job ran."""
        state = self._states.of(bundle.metadata.uid)
        state.is_waiting = True
        if state.has_news:
            self._wake(bundle.metadata.name)
        if self._kept.is_unasked(bundle):
            state.stored = ContentPresence.REFILL_WAITS
            return _about(Fact(cause=Cause.IMAGE_COMING))
        state.awaited = told_of_image(bundle, state, found, self._clock().loop)
        return _about(*state.awaited)

    def _without_store(self, bundle: Bundle, failure: Fact) -> Progress:
        """Report the failure, unless the content is not asked for: it may be stored, and is read without a link."""
        if not self._kept.is_unasked(bundle):
            return _about(failure)
        text = f"the content cannot be stored or linked yet: {failure.text}"
        LASTING.tell(LOG, logging.INFO, Reason.UNPACK_FAILED, text)
        self._states.of(bundle.metadata.uid).stored = ContentPresence.UNKNOWN
        return NO_PROGRESS

    async def _failed(self, bundle: Bundle, failure: Fact) -> Progress:
        if self._kept.is_unasked(bundle):
            return await self._kept.refill_failed(bundle, failure)
        if _is_refused(failure):
            await self._jobs.clean_up(bundle)
        return _about(failure)

    async def _release(self, bundle: Bundle) -> Progress:
        """The original's finalizer would hold a taken-over Bundle for ever."""
        self.gone(bundle)
        if UPSTREAM_BUNDLE_FINALIZER in bundle.metadata.finalizers:
            await remove_finalizer(self._client, BUNDLES, bundle.metadata, UPSTREAM_BUNDLE_FINALIZER)
        return NO_PROGRESS


def _about(*facts: Fact) -> Progress:
    return Progress(facts=facts)


def _of_unknown_class(bundle: Bundle) -> Progress:
    """A class of others says nothing here."""
    if not is_unknown_class(bundle.spec.provisioner_class):
        return NO_PROGRESS
    name = bundle.spec.provisioner_class_name
    detail = UnknownClass(class_name=name, field="spec.provisionerClassName", is_immutable=True)
    return _about(Fact(cause=Cause.CLASS_UNKNOWN, detail=detail))


def _is_refused(result: Result | None) -> bool:
    """The content is wrong, and will be at the next fetch."""
    return isinstance(result, Fact) and result.cause is Cause.FETCH_CONTENT

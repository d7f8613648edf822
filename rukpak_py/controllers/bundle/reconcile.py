"""The life of a Bundle: fetched once, checked, stored, pinned.

* A pinned Bundle costs no call at all. Its content may be lost (an emptyDir is); it is fetched again from where it
  was found once it is asked for, and accepted only with the same digest. Nothing moves with a tag.
* Which content a Bundle has says a record of ours, not the status (see `pinning`). Without a record (it was lost with
  the store, or an older release kept none) the content counts as lost, whatever is stored: it is fetched again,
  accepted only with the digest of the status, and recorded. The record is written before the status, so after a crash
  in between the status is written from it.
* A store that cannot be written is a condition of the Bundles that need it, and is tried again.
* Fetching happens in jobs; a reconcile starts one, or takes its result and writes it down: one status write.
* Where a job can only wait for somebody else (a node that pulls an image), it ends, and what happens there (`news`)
  starts another one.
* A job begins at an attempt only (see `Queue`): a source that fails is asked again after its pause, or when what it
  failed for changes, whatever else brings the Bundle back meanwhile.
* Bundles have no finalizer of ours. Content is swept, not owned.
"""

import logging
from collections.abc import Callable, Collection

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.names import UPSTREAM_BUNDLE_FINALIZER, SourceType
from rukpak_py.content.disk import StoreUnavailableError
from rukpak_py.content.records import BundleRecord
from rukpak_py.controllers.bundle import status as bundle_status
from rukpak_py.controllers.bundle.pinning import Pinning, RecordSituation, is_pinned
from rukpak_py.controllers.bundle.state import BundleState, BundleStates, Refills, StoredContent
from rukpak_py.controllers.bundle.status_writer import BundleStatusWriter
from rukpak_py.controllers.bundle.unpacking import PERSIST, Pending, Result, Unpacked, UnpackFailed, UnpackJobs
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.outcome import DONE, WAIT, Outcome, hold, retry, under_way
from rukpak_py.controllers.ports import Content
from rukpak_py.controllers.queue import Turn
from rukpak_py.controllers.writes import remove_finalizer
from rukpak_py.core.errors import AccessError, ContentError, RukPakError
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import BUNDLES
from rukpak_py.sources.source import Waiting

LOG = logging.getLogger(__name__)
UNPACKING_AFTER_SECONDS = 1.0  # a job that runs longer is reported in the status
LOOK_AGAIN_SECONDS = 60.0  # where no news came
REFUSED_SECONDS = 300.0  # between two attempts with a login that is missing or refused; its Secret wakes the Bundle


class BundleReconciler:
    def __init__(
        self,
        *,
        client: Client,
        bundles: Cache[Bundle],
        jobs: UnpackJobs,
        content: Content,
        pinning: Pinning,
        writer: BundleStatusWriter,
        states: BundleStates,
        classes: Collection[str],
        wake: Callable[[str], None],
    ) -> None:
        """`wake`: bring the Bundle of this name back, for an attempt."""
        self._client = client
        self._bundles = bundles
        self._jobs = jobs
        self._content = content
        self._pinning = pinning
        self._writer = writer
        self._states = states
        self._classes = classes
        self._wake = wake
        self._refills = Refills(wake)

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
                self._doubt(bundle)

    def deployment_changed(self, uid: str) -> None:
        """What is wrong for a deployment of one class may be right for one of another."""
        for bundle in self._bundles.controlled_by(uid):
            if not bundle.status.digest and self._jobs.is_judged_anew(bundle):
                self._wake(bundle.metadata.name)

    def news(self, name: str) -> None:
        """Something happened to what the content of this Bundle may come from.

        A Bundle that waits for it is woken. One that has failed is not: what its attempt leaves behind, such as the
        end of its pod, would start the next attempt at once, for ever.
        """
        bundle = self._bundles.get(name)
        if bundle is None:
            return
        state = self._states.of(bundle.metadata.uid)
        state.has_news = True
        if state.is_waiting:
            self._wake(name)

    async def reconcile(self, name: str, turn: Turn) -> Outcome:
        bundle = self._bundles.get(name)
        if bundle is None:
            await self._content.unlink(name)
            return DONE
        try:
            return await self._reconcile(bundle, turn)
        except StoreUnavailableError as error:
            return await self._failed(self._bundles.get(name) or bundle, f"{PERSIST}{error}", error)

    async def _reconcile(self, bundle: Bundle, turn: Turn) -> Outcome:
        uid = bundle.metadata.uid
        if bundle.metadata.is_deleted:
            return await self._release(bundle)
        if bundle.spec.provisioner_class not in self._classes:
            self._reset(bundle)
            return DONE
        if (outcome := await self._by_record(bundle)) is not None:
            return outcome
        async with self._jobs.turns.of(uid):
            result = self._jobs.take(bundle)
            is_refused = isinstance(result, UnpackFailed) and isinstance(result.error, ContentError)
            if is_refused and self._jobs.is_judged_anew(bundle):
                result = None  # judged for a class that its deployment does not have any more
            if result is not None:
                return await self._write_down(bundle, result)
        if self._jobs.is_running(bundle):
            return await self._report_unpacking(bundle)
        if is_pinned(bundle) and not self._states.of(uid).is_requested:
            return await self._kept(bundle)
        self._refills.looked_at(uid)
        if not turn.is_attempt:
            return WAIT
        await self._content.unlink(bundle.metadata.name)  # of a former Bundle of this name, or its own, which is lost
        self._start(bundle)
        return under_way(UNPACKING_AFTER_SECONDS)

    async def _by_record(self, bundle: Bundle) -> Outcome | None:
        """What the status does not say, or says otherwise; None: they agree, or the content has to be fetched."""
        uid, record = bundle.metadata.uid, self._pinning.record_of(bundle)
        match self._pinning.situation(bundle), record:
            case RecordSituation.CONTRADICTED, BundleRecord():
                self._reset(bundle)
                await self._pinning.report_contradiction(bundle, record)
                return DONE
            case RecordSituation.NOT_PINNED, BundleRecord() if await self._pinning.is_stored(bundle):
                await self._pinning.pin_again(bundle, record)
                self._settle(uid)
                return DONE
            case RecordSituation.NO_RECORD, None if (adopted := await self._pinning.adopt(bundle)) is not None:
                await self._pinning.pin_again(bundle, adopted)
                self._settle(uid)
                return DONE
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
        """Its content is no concern of this process for now."""
        self._jobs.drop(bundle)
        self._states.reset(bundle.metadata.uid)
        self._refills.end(bundle.metadata.uid)

    def _start(self, bundle: Bundle) -> None:
        state = self._states.of(bundle.metadata.uid)
        state.is_waiting = state.has_news = False
        self._jobs.start(bundle)

    async def _report_unpacking(self, bundle: Bundle) -> Outcome:
        """Once, and only what takes long; a Bundle that fails again and again does not flicker between two phases."""
        if bundle.status.phase:
            return under_way()
        left = UNPACKING_AFTER_SECONDS - self._jobs.seconds(bundle)
        if left > 0:
            return under_way(left)
        await self._writer.write(bundle, bundle_status.unpacking(bundle, self._writer.now()))
        return under_way()

    async def _write_down(self, bundle: Bundle, result: Result) -> Outcome:
        if not isinstance(result, Waiting) or result.message:  # a pod of which nothing bad is known keeps its place
            self._refills.end(bundle.metadata.uid)
        match result:
            case Pending(message=message):
                return await self._pending(bundle, message)
            case Waiting():
                return await self._waits(bundle, result)
            case UnpackFailed(message=message, error=error):
                return await self._failed(bundle, message, error)
            case Unpacked():
                return await self._unpacked(bundle, result)

    async def _unpacked(self, bundle: Bundle, found: Unpacked) -> Outcome:
        pinned = self._jobs.pinned_digest(bundle)
        if pinned and found.digest != pinned:
            status = bundle_status.content_changed(bundle, pinned, found.digest, self._writer.now())
            await self._writer.write(bundle, status)
            await self._jobs.clean_up(bundle)  # what it was read from is not to be read again
            return retry()
        await self._pinning.pin(bundle, found)
        self._settle(bundle.metadata.uid)
        await self._jobs.clean_up(bundle)
        return DONE

    def _settle(self, uid: str) -> None:
        """Its content is there, and its status says so."""
        state = self._states.of(uid)
        state.is_requested, state.stored = False, StoredContent.PRESENT
        self._refills.end(uid)

    async def _pending(self, bundle: Bundle, message: str) -> Outcome:
        """Whoever brings the content, or watches it come, says so: nothing is tried again before."""
        if (pinned := self._jobs.pinned_digest(bundle)) and bundle.spec.source.type == SourceType.UPLOAD:
            status = bundle_status.content_lost(bundle, pinned, self._writer.now())
        elif self._is_unasked(bundle):
            return self._give_up_refill(bundle)
        else:
            status = bundle_status.pending(bundle, message, self._writer.now())
        await self._writer.write(bundle, status)
        return hold()

    async def _waits(self, bundle: Bundle, waiting: Waiting) -> Outcome:
        """What happens there wakes the Bundle, also when it happened while the job ran."""
        state = self._states.of(bundle.metadata.uid)
        state.is_waiting = True
        if state.has_news:
            self._wake(bundle.metadata.name)
        if self._is_unasked(bundle):
            state.stored = StoredContent.REFILL_WAITS
        elif waiting.message or not bundle.status.phase:
            await self._writer.write(bundle, bundle_status.pending(bundle, waiting.message, self._writer.now()))
        return hold(LOOK_AGAIN_SECONDS)

    async def _failed(self, bundle: Bundle, message: str, error: RukPakError) -> Outcome:
        if self._is_unasked(bundle):
            LOG.info("the content of %s cannot be stored or fetched again yet: %s", bundle.metadata.name, message)
            return self._give_up_refill(bundle)
        await self._writer.write(bundle, bundle_status.failing(bundle, message, error, self._writer.now()))
        match error:
            case ContentError():
                await self._jobs.clean_up(bundle)
                return hold()
            case AccessError():
                return retry(max(REFUSED_SECONDS, error.retry_after))
            case _:
                return retry(error.retry_after)

    def _is_unasked(self, bundle: Bundle) -> bool:
        """It is unpacked, and only the slow pass looks for its content: a failure is no news."""
        return is_pinned(bundle) and not self._states.of(bundle.metadata.uid).is_requested

    def _give_up_refill(self, bundle: Bundle) -> Outcome:
        self._states.of(bundle.metadata.uid).stored = StoredContent.UNKNOWN
        return DONE

    async def _kept(self, bundle: Bundle) -> Outcome:
        """Pinned: see to its link, and to a spec that was changed past the webhook. No call in the usual case."""
        state, outcome = self._states.of(bundle.metadata.uid), DONE
        if state.stored is StoredContent.REFILL_WAITS:
            state.stored = StoredContent.DOUBTFUL
        if state.stored is not StoredContent.PRESENT:
            outcome = await self._look_for_content(bundle, state)
        if state.stored is StoredContent.PRESENT:
            await self._jobs.clean_up(bundle)
        await self._pinning.update_status(bundle)
        return outcome

    async def _look_for_content(self, bundle: Bundle, state: BundleState) -> Outcome:
        uid, is_doubtful = bundle.metadata.uid, state.stored is StoredContent.DOUBTFUL
        if await self._pinning.is_stored(bundle):
            await self._pinning.link(bundle, bundle.status.digest)
            state.stored = StoredContent.PRESENT
            self._refills.end(uid)
            return DONE
        await self._content.unlink(bundle.metadata.name)
        if not is_doubtful:
            state.stored = StoredContent.UNKNOWN
            return DONE
        if not self._refills.take_place(uid):
            return DONE  # it stays doubtful, and its turn comes
        state.stored = StoredContent.REFILLING
        self._start(bundle)
        self._refills.looked_at(uid)
        return under_way()

    def _doubt(self, bundle: Bundle) -> None:
        self._states.of(bundle.metadata.uid).stored = StoredContent.DOUBTFUL
        self._refills.doubt(bundle.metadata.uid, bundle.metadata.name)

    async def _release(self, bundle: Bundle) -> Outcome:
        """The original's finalizer would hold a taken-over Bundle for ever."""
        self.gone(bundle)
        if UPSTREAM_BUNDLE_FINALIZER in bundle.metadata.finalizers:
            await remove_finalizer(self._client, BUNDLES, bundle.metadata, UPSTREAM_BUNDLE_FINALIZER)
        return DONE

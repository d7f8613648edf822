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
from rukpak_py.controllers.bundle.status_writer import BundleStatusWriter
from rukpak_py.controllers.bundle.unpacking import PERSIST, Pending, Result, UnpackFailed, UnpackJobs
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.outcome import DONE, WAIT, Outcome, again, retry
from rukpak_py.controllers.ports import Content
from rukpak_py.controllers.writes import remove_finalizer
from rukpak_py.core.errors import ContentError, RukPakError
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import BUNDLES
from rukpak_py.sources.source import Waiting

LOG = logging.getLogger(__name__)
UNPACKING_AFTER_SECONDS = 1.0  # a job that runs longer is reported in the status
LOOK_AGAIN_SECONDS = 60.0  # where no news came
REFILLS_AT_ONCE = 2  # of content that is lost and that nobody waits for


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
        classes: Collection[str],
        wake: Callable[[str], None],
    ) -> None:
        self._client = client
        self._bundles = bundles
        self._jobs = jobs
        self._content = content
        self._pinning = pinning
        self._writer = writer
        self._classes = classes
        self._wake = wake
        self._wanted: set[str] = set()  # uids of pinned Bundles whose content somebody asked for
        self._to_verify: dict[str, str] = {}  # names of pinned Bundles whose content is to be looked at, by uid
        self._refilling: set[str] = set()  # uids of pinned Bundles whose content is fetched though nobody waits
        self._paused: set[str] = set()  # uids of pinned Bundles whose content is lost and on its way
        self._linked: set[str] = set()  # uids of Bundles whose content was there when this process looked
        self._changed_since_job: set[str] = (
            set()
        )  # uids of Bundles for which something happened since their last job began
        self._permanently_failed: set[str] = (
            set()
        )  # uids of Bundles whose image is wrong: nothing that happens helps them

    def request_content(self, bundle: Bundle) -> None:
        """The content of this pinned Bundle is needed and not there: fetch it again."""
        if not bundle.metadata.uid:
            return  # it is gone, and only the history of its deployment knows it
        if self._pinning.situation(bundle) is RecordSituation.CONTRADICTED:
            return  # a fetch changes nothing: its status has to be restored
        if bundle.spec.source.type == SourceType.UPLOAD and bundle.metadata.uid in self._wanted:
            return  # nobody but its uploader can bring it; who asks again and again changes nothing
        self._wanted.add(bundle.metadata.uid)
        self._wake(bundle.metadata.name)

    def check_content(self) -> None:
        """Look at every pinned Bundle's content; what is lost is fetched again, two at a time: no server is stormed."""
        for bundle in self._bundles:
            if is_pinned(bundle) and bundle.spec.provisioner_class in self._classes:
                self._to_verify[bundle.metadata.uid] = bundle.metadata.name
                self._wake(bundle.metadata.name)

    def deployment_changed(self, uid: str) -> None:
        """What is wrong for a deployment of one class may be right for one of another."""
        for bundle in self._bundles.controlled_by(uid):
            if not bundle.status.digest and self._jobs.is_judged_anew(bundle):
                self._wake(bundle.metadata.name)

    def news(self, name: str) -> None:
        """Something happened to what the content of this Bundle may come from."""
        bundle = self._bundles.get(name)
        if bundle is not None and bundle.metadata.uid not in self._permanently_failed:
            self._changed_since_job.add(bundle.metadata.uid)
            self._wake(name)

    async def reconcile(self, name: str) -> Outcome:
        bundle = self._bundles.get(name)
        if bundle is None:
            await self._content.unlink(name)
            return DONE
        try:
            return await self._reconcile(bundle)
        except StoreUnavailableError as error:
            return await self._failed(self._bundles.get(name) or bundle, f"{PERSIST}{error}", error)

    async def _reconcile(self, bundle: Bundle) -> Outcome:
        uid = bundle.metadata.uid
        if bundle.metadata.is_deleted:
            return await self._release(bundle)
        if bundle.spec.provisioner_class not in self._classes:
            self._to_verify.pop(uid, None)
            self._jobs.drop(bundle)
            self._end_refill(uid)
            return DONE
        if (outcome := await self._by_record(bundle)) is not None:
            return outcome
        async with self._jobs.turns.of(uid):
            result = self._jobs.take(bundle)
            if _is_refused(result) and self._jobs.is_judged_anew(bundle):
                result = None  # judged for a class that its deployment does not have any more
                self._permanently_failed.discard(uid)
            if result is not None:
                if not _is_on_its_way(result):
                    self._end_refill(uid)
                return await self._write_down(bundle, result)
        if self._jobs.is_running(bundle):
            return await self._report_unpacking(bundle)
        if is_pinned(bundle) and uid not in self._wanted:
            return await self._kept(bundle)
        self._to_verify.pop(uid, None)
        if uid in self._permanently_failed and not self._jobs.is_judged_anew(bundle):
            return DONE
        await self._content.unlink(bundle.metadata.name)  # of a former Bundle of this name, or its own, which is lost
        self._start(bundle)
        return again(UNPACKING_AFTER_SECONDS)

    async def _by_record(self, bundle: Bundle) -> Outcome | None:
        """What the status does not say, or says otherwise; None: they agree, or the content has to be fetched."""
        uid, record = bundle.metadata.uid, self._pinning.record_of(bundle)
        match self._pinning.situation(bundle), record:
            case RecordSituation.CONTRADICTED, BundleRecord():
                self._jobs.drop(bundle)
                self._to_verify.pop(uid, None)
                self._linked.discard(uid)
                self._end_refill(uid)
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
        self._wanted.add(bundle.metadata.uid)
        self._wake(bundle.metadata.name)

    def gone(self, bundle: Bundle) -> None:
        """The Bundle was deleted."""
        self._jobs.drop(bundle)
        self._wanted.discard(bundle.metadata.uid)
        self._to_verify.pop(bundle.metadata.uid, None)
        self._paused.discard(bundle.metadata.uid)
        self._linked.discard(bundle.metadata.uid)
        self._changed_since_job.discard(bundle.metadata.uid)
        self._permanently_failed.discard(bundle.metadata.uid)
        self._end_refill(bundle.metadata.uid)

    async def close(self) -> None:
        await self._jobs.close()

    def _start(self, bundle: Bundle) -> None:
        self._changed_since_job.discard(bundle.metadata.uid)
        self._permanently_failed.discard(bundle.metadata.uid)
        self._jobs.start(bundle)

    async def _report_unpacking(self, bundle: Bundle) -> Outcome:
        """Once, and only what takes long; a Bundle that fails again and again does not flicker between two phases."""
        if bundle.status.phase:
            return WAIT
        left = UNPACKING_AFTER_SECONDS - self._jobs.seconds(bundle)
        if left > 0:
            return again(left)
        await self._writer.write(bundle, bundle_status.unpacking(bundle, self._writer.now()))
        return WAIT

    async def _write_down(self, bundle: Bundle, result: Result) -> Outcome:
        if isinstance(result, Pending):
            return await self._pending(bundle, result.message)
        if isinstance(result, Waiting):
            return await self._waits(bundle, result)
        if isinstance(result, UnpackFailed):
            return await self._failed(bundle, result.message, result.error)
        pinned = self._jobs.pinned_digest(bundle)
        if pinned and result.digest != pinned:
            status = bundle_status.content_changed(bundle, pinned, result.digest, self._writer.now())
            await self._writer.write(bundle, status)
            await self._jobs.clean_up(bundle)  # what it was read from is not to be read again
            return retry()
        await self._pinning.pin(bundle, result)
        self._settle(bundle.metadata.uid)
        await self._jobs.clean_up(bundle)
        return DONE

    def _settle(self, uid: str) -> None:
        """Its content is there, and its status says so."""
        self._wanted.discard(uid)
        self._linked.add(uid)

    async def _pending(self, bundle: Bundle, message: str) -> Outcome:
        """Whoever brings the content, or watches it come, says so: nothing is tried again before."""
        if (pinned := self._jobs.pinned_digest(bundle)) and bundle.spec.source.type == SourceType.UPLOAD:
            status = bundle_status.content_lost(bundle, pinned, self._writer.now())
        elif is_pinned(bundle) and bundle.metadata.uid not in self._wanted:
            return DONE
        else:
            status = bundle_status.pending(bundle, message, self._writer.now())
        await self._writer.write(bundle, status)
        return DONE

    async def _waits(self, bundle: Bundle, waiting: Waiting) -> Outcome:
        """What happened while the job ended is looked at by another one; else the next news is waited for."""
        uid = bundle.metadata.uid
        if uid in self._changed_since_job:
            self._start(bundle)
        elif is_pinned(bundle) and uid not in self._wanted:
            self._paused.add(uid)  # until it is looked at again; not the turn of the next one
        elif waiting.message or not bundle.status.phase:
            await self._writer.write(bundle, bundle_status.pending(bundle, waiting.message, self._writer.now()))
        return again(LOOK_AGAIN_SECONDS)

    async def _failed(self, bundle: Bundle, message: str, error: RukPakError) -> Outcome:
        if is_pinned(bundle) and bundle.metadata.uid not in self._wanted:
            LOG.info("the content of %s cannot be stored or fetched again yet: %s", bundle.metadata.name, message)
            return DONE
        await self._writer.write(bundle, bundle_status.failing(bundle, message, error, self._writer.now()))
        if isinstance(error, ContentError):
            # What others are made of may come again with other content; what is pinned was correct once.
            if bundle.spec.source.type == SourceType.IMAGE and not bundle.status.digest:
                self._permanently_failed.add(bundle.metadata.uid)
            await self._jobs.clean_up(bundle)
            return DONE
        return retry(error.retry_after)

    async def _kept(self, bundle: Bundle) -> Outcome:
        """Pinned: see to its link, and to a spec that was changed past the webhook. No call in the usual case."""
        uid = bundle.metadata.uid
        if uid in self._paused:
            self._paused.discard(uid)
            self._to_verify[uid] = bundle.metadata.name
        if uid in self._to_verify or uid not in self._linked:
            await self._look_for_content(bundle)
        if uid in self._linked:
            await self._jobs.clean_up(bundle)
        await self._pinning.update_status(bundle)
        return DONE

    async def _look_for_content(self, bundle: Bundle) -> None:
        uid = bundle.metadata.uid
        if await self._pinning.is_stored(bundle):
            await self._pinning.link(bundle, bundle.status.digest)
            self._linked.add(uid)
        else:
            await self._content.unlink(bundle.metadata.name)
            self._linked.discard(uid)
        if uid in self._to_verify and uid not in self._linked:
            if uid not in self._refilling and len(self._refilling) >= REFILLS_AT_ONCE:
                return  # it stays doubtful, and its turn comes
            self._refilling.add(uid)
            self._start(bundle)  # nobody waits for it: a failure is no news, and the next pass tries again
        self._to_verify.pop(uid, None)
        self._wake_next_doubtful()

    def _end_refill(self, uid: str) -> None:
        if uid in self._refilling:
            self._refilling.discard(uid)
            self._wake_next_doubtful()

    def _wake_next_doubtful(self) -> None:
        if self._to_verify and len(self._refilling) < REFILLS_AT_ONCE:
            self._wake(next(iter(self._to_verify.values())))

    async def _release(self, bundle: Bundle) -> Outcome:
        """The original's finalizer would hold a taken-over Bundle for ever."""
        self.gone(bundle)
        if UPSTREAM_BUNDLE_FINALIZER in bundle.metadata.finalizers:
            await remove_finalizer(self._client, BUNDLES, bundle.metadata, UPSTREAM_BUNDLE_FINALIZER)
        return DONE


def _is_refused(result: Result | None) -> bool:
    return isinstance(result, UnpackFailed) and isinstance(result.error, ContentError)


def _is_on_its_way(result: Result) -> bool:
    """By a pod of which nothing bad is known: it keeps its turn."""
    return isinstance(result, Waiting) and not result.message

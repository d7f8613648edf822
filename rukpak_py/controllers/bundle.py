"""The life of a Bundle (design section 6): fetched once, checked, stored, pinned.

* A pinned Bundle costs no call at all. Its content may be lost (an emptyDir is); it is fetched again from
  `resolvedSource` when somebody asks for it, and accepted only with the same digest. Nothing moves with a tag.
* Fetching happens in jobs; a reconcile starts one, or takes its result and writes it down: one status write.
* Bundles have no finalizer of ours. Content is swept, not owned.
"""

import logging
from collections.abc import Callable, Collection

from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle, BundleStatus
from rukpak_py.api.names import BUNDLE_KIND, UPSTREAM_BUNDLE_FINALIZER, Phase, Reason
from rukpak_py.api.template_hash import spec_digest
from rukpak_py.controllers import bundle_status
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.fetching import Failed, Jobs, Result, unpack
from rukpak_py.controllers.finalizers import remove_finalizer
from rukpak_py.controllers.kinds import BUNDLES
from rukpak_py.controllers.outcome import DONE, WAIT, Outcome, again, retry
from rukpak_py.controllers.ports import Content, Recorder, Sources
from rukpak_py.controllers.status_write import write_status
from rukpak_py.core.errors import ContentError, RukPakError
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError, StaleError

LOG = logging.getLogger(__name__)
SLOW = 1.0  # seconds; a job that runs longer is told in the status


class BundleController:
    def __init__(
        self,
        *,
        client: Client,
        bundles: Cache[Bundle],
        sources: Sources,
        content: Content,
        events: Recorder,
        classes: Collection[str],
        wake: Callable[[str], None],
        on_news: Callable[[Bundle], None],
        now: Callable[[], str],
    ) -> None:
        self._client = client
        self._bundles = bundles
        self._sources = sources
        self._content = content
        self._events = events
        self._classes = classes
        self._wake = wake
        self._on_news = on_news
        self._now = now
        self._jobs = Jobs(on_end=wake)
        self._wanted: set[str] = set()  # uids of pinned Bundles whose content somebody asked for
        self._doubtful: set[str] = set()  # uids of pinned Bundles whose content is to be looked at

    def want_content(self, bundle: Bundle) -> None:
        """The content of this pinned Bundle is needed and not there: fetch it again."""
        self._wanted.add(bundle.metadata.uid)
        self._wake(bundle.metadata.name)

    def check_content(self) -> None:
        """Look at every pinned Bundle's content; what is lost is fetched again, a few at a time."""
        for bundle in self._bundles:
            if is_pinned(bundle) and bundle.spec.provisioner_class in self._classes:
                self._doubtful.add(bundle.metadata.uid)
                self._wake(bundle.metadata.name)

    async def reconcile(self, name: str) -> Outcome:
        bundle = self._bundles.get(name)
        if bundle is None:
            await self._content.unlink(name)
            return DONE
        uid = bundle.metadata.uid
        if bundle.metadata.is_deleted:
            return await self._let_go(bundle)
        if bundle.spec.provisioner_class not in self._classes:
            return DONE
        if bundle.metadata.generation < bundle.status.observed_generation:
            return DONE  # a stale read; the newer event is on its way
        result = self._jobs.take(uid)
        if result is not None:
            return await self._write_down(bundle, result)
        if self._jobs.is_running(uid):
            return await self._say_unpacking(bundle)
        if is_pinned(bundle) and uid not in self._wanted:
            return await self._kept(bundle)
        self._start(bundle)
        return again(SLOW)

    def gone(self, bundle: Bundle) -> None:
        """The Bundle was deleted."""
        self._jobs.drop(bundle.metadata.uid)
        self._wanted.discard(bundle.metadata.uid)
        self._doubtful.discard(bundle.metadata.uid)

    async def close(self) -> None:
        await self._jobs.close()

    def _start(self, bundle: Bundle) -> None:
        source = bundle.status.resolved_source or bundle.spec.source  # what was unpacked once never moves

        async def job() -> Result:
            return await unpack(
                self._sources, self._content, source=source, provisioner_class=bundle.spec.provisioner_class
            )

        self._jobs.start(bundle.metadata.name, bundle.metadata.uid, source.type, job)

    async def _say_unpacking(self, bundle: Bundle) -> Outcome:
        """Told once; a Bundle that fails again and again does not flicker between two phases."""
        if not bundle.status.phase:
            await self._write(bundle, bundle_status.unpacking(bundle, self._now()))
        return WAIT

    async def _write_down(self, bundle: Bundle, result: Result) -> Outcome:
        pinned = bundle.status.digest
        if isinstance(result, Failed):
            return await self._failed(bundle, result.message, result.error)
        if pinned and result.digest != pinned:
            status = bundle_status.content_changed(bundle, result.digest, self._now())
            await self._write(bundle, status)
            self._events.warning(
                BUNDLE_KIND, bundle.metadata.name, bundle.metadata.uid, Reason.CONTENT_CHANGED, _message(status)
            )
            return retry()
        self._wanted.discard(bundle.metadata.uid)
        await self._content.link(bundle.metadata.name, result.digest)
        resolved = bundle.status.resolved_source if pinned and bundle.status.resolved_source else result.resolved
        status = bundle_status.unpacked(bundle, result.digest, resolved, self._now())
        if not bundle.status.is_unpacked:
            self._events.normal(
                BUNDLE_KIND,
                bundle.metadata.name,
                bundle.metadata.uid,
                "Unpacked",
                f"{_message(status)}, {result.digest}",
            )
        await self._write(bundle, status)
        return DONE

    async def _failed(self, bundle: Bundle, message: str, error: RukPakError) -> Outcome:
        if is_pinned(bundle) and bundle.metadata.uid not in self._wanted:
            LOG.info("the lost content of %s cannot be fetched again yet: %s", bundle.metadata.name, message)
            return DONE
        status = bundle_status.failing(bundle, message, error, self._now())
        if await self._write(bundle, status):
            self._events.warning(BUNDLE_KIND, bundle.metadata.name, bundle.metadata.uid, Reason.UNPACK_FAILED, message)
        if isinstance(error, ContentError):
            return DONE  # nothing but another Bundle can help
        return retry(getattr(error, "retry_after", None) or 0.0)

    async def _kept(self, bundle: Bundle) -> Outcome:
        """Pinned: see to its link, and to a spec that was changed past the webhook. No call in the usual case."""
        uid = bundle.metadata.uid
        if await self._content.has(bundle.status.digest):
            await self._content.link(bundle.metadata.name, bundle.status.digest)
        elif uid in self._doubtful:
            self._start(bundle)  # nobody waits for it: a failure is no news, and the next pass tries again
        self._doubtful.discard(uid)
        if bundle.status.spec_digest and bundle.status.spec_digest != spec_digest(bundle.spec):
            await self._write(bundle, bundle_status.spec_changed(bundle, self._now()))
        elif bundle.status.observed_generation != bundle.metadata.generation:  # it was changed, and put back
            resolved = bundle.status.resolved_source or bundle.spec.source
            await self._write(bundle, bundle_status.unpacked(bundle, bundle.status.digest, resolved, self._now()))
        return DONE

    async def _let_go(self, bundle: Bundle) -> Outcome:
        """The original's finalizer would hold a taken-over Bundle for ever."""
        self.gone(bundle)
        if UPSTREAM_BUNDLE_FINALIZER in bundle.metadata.finalizers:
            await remove_finalizer(self._client, BUNDLES, bundle.metadata, UPSTREAM_BUNDLE_FINALIZER)
        return DONE

    async def _write(self, bundle: Bundle, status: BundleStatus) -> bool:
        try:
            metadata = await write_status(self._client, BUNDLES, bundle.metadata, bundle.status, status)
        except (NotFoundError, StaleError):
            return False  # deleted meanwhile; its event is on the way
        if metadata is None:
            self._on_news(bundle)  # nothing to write, but its content may be there again
            return False
        if metadata.generation == bundle.metadata.generation:
            bundle = replace(bundle, metadata=metadata, status=status)
            self._bundles.put(bundle)
        self._on_news(bundle)
        return True


def is_pinned(bundle: Bundle) -> bool:
    return bool(bundle.status.digest) and bundle.status.phase == Phase.UNPACKED


def _message(status: BundleStatus) -> str:
    return status.conditions[0].message if status.conditions else ""

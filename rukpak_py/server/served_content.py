"""Content that the leader serves: that of unpacked Bundles, lost content when it is back, and uploads as they came."""

import asyncio
import logging
from contextlib import suppress

from rukpak_py.api.bundle import Bundle
from rukpak_py.content.disk import StoreUnavailableError
from rukpak_py.controllers.bundle.reconcile import BundleReconciler
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.stored_content import StoredContent
from rukpak_py.formats.by_class import served_form
from rukpak_py.server.archives import Archive
from rukpak_py.server.uploads import Unpacking
from rukpak_py.sources.upload import UploadDirectory, UploadedFor, sha256_of

LOG = logging.getLogger(__name__)
REFETCH_SECONDS = 20.0  # for which a client waits for content that was lost


class ServedContent:
    def __init__(
        self,
        content: StoredContent,
        directory: UploadDirectory,
        unpacking: Unpacking,
        reconciler: BundleReconciler,
        bundles: Cache[Bundle],
    ) -> None:
        self.directory = directory
        self.unpacking = unpacking
        self.is_open = False
        self._content = content
        self._reconciler = reconciler
        self._bundles = bundles

    async def open(self) -> None:
        try:
            await asyncio.to_thread(self.directory.clean)
        except StoreUnavailableError as error:
            LOG.warning("%s. Uploads are refused with that until it can be written", error)
        self.is_open = True

    def close(self) -> None:
        """Stop serving: another replica may lead soon, and would not hear of uploads to this one."""
        self.is_open = False

    def unavailable(self) -> str | None:
        return None if self.is_open else "this replica does not lead, and the leader cannot be reached; try again"

    async def archive(self, bundle: Bundle) -> Archive | None:
        with suppress(TimeoutError):
            async with asyncio.timeout(REFETCH_SECONDS):
                return await self._found_or_fetched(bundle)
        return None

    async def _found_or_fetched(self, bundle: Bundle) -> Archive | None:
        found = await self._found(bundle)
        if found is None:
            self._reconciler.request_content(bundle)
        while found is None and self._is_unpacked(bundle):
            news = self._content.news
            found = await self._found(bundle)
            if found is None:
                await news.wait()
        return found

    async def _found(self, bundle: Bundle) -> Archive | None:
        """Find the archive by the record of the Bundle. Others may have written its status, which must agree."""
        digest = bundle.status.digest
        if not self._content.is_content_of(digest, bundle=bundle.metadata.uid, deployment=""):
            return None
        form = served_form(bundle.spec.provisioner_class)
        file = await self._content.archive(digest, form)
        return Archive(file=file, tag=f"{digest}{form}") if file is not None else None

    def _is_unpacked(self, bundle: Bundle) -> bool:
        """Whether the content is not lost for good, as far as we know."""
        known = self._bundles.get(bundle.metadata.name)
        return known is None or known.status.is_unpacked

    async def uploaded(self, bundle: Bundle) -> Archive | None:
        upload = UploadedFor(bundle=bundle.metadata.name, uid=bundle.metadata.uid)
        file = await asyncio.to_thread(self.directory.find, upload)
        return Archive(file=file, tag=await asyncio.to_thread(sha256_of, file)) if file is not None else None

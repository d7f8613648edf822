"""The controllers' `Records` and the images that are stored already: the records on disk, in threads.

The records of Bundles are in memory, too: they are asked for at every look. They are read once, when the store is
opened. One that could not be written because the disk is full or cannot be written counts in this process, and is
written with the next sweep.

What was recorded a moment ago is not swept: the caches may not show yet whom it is for.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import monotonic

from rukpak_py.api.names import canonical_class
from rukpak_py.content.disk import StoreUnavailableError
from rukpak_py.content.records import BundleRecord, ImageRecord, InUse, RecordStore, is_in_use
from rukpak_py.content.tree import Tree
from rukpak_py.sources.source import ImageAccess, ImageContent

LOG = logging.getLogger(__name__)
RECENT_SECONDS = 600.0


class ContentRecords:
    def __init__(self, directory: Path) -> None:
        self._store = RecordStore(directory)
        self._bundles: dict[str, BundleRecord] = {}  # by uid
        self._unwritten: dict[str, BundleRecord] = {}
        self._recent: dict[str, float] = {}  # by the uid of a Bundle or of a deployment
        self.are_new = False
        self._writing = asyncio.Lock()  # what is recorded during a sweep is written after it

    async def open(self) -> None:
        """Read what an earlier process wrote."""
        self.are_new = self.are_new or not await asyncio.to_thread(self._store.exists)
        found = await asyncio.to_thread(self._store.bundles)
        self._bundles = found | self._bundles
        try:
            await asyncio.to_thread(self._store.remove_temporary)
        except StoreUnavailableError as error:
            LOG.warning("temporary files stay: %s", error)

    def of(self, uid: str) -> BundleRecord | None:
        return self._bundles.get(uid)

    def is_content_of(self, digest: str, *, bundle: str, deployment: str) -> bool:
        """`bundle` empty: it is gone, and its deployment needs what it has installed."""
        if bundle:
            record = self._bundles.get(bundle)
            return record is not None and record.digest == digest
        return self.of_deployment(digest, deployment) is not None

    def of_deployment(self, digest: str, deployment: str, *, spec_digest: str = "") -> BundleRecord | None:
        """Record of a Bundle of the deployment with this content, which may be gone."""
        found = (one for one in self._bundles.values() if (one.deployment, one.digest) == (deployment, digest))
        of_spec = (one for one in found if spec_digest in {"", one.spec_digest})
        return next(of_spec, None) if deployment else None

    async def keep(self, record: BundleRecord) -> None:
        self._recent[record.uid] = monotonic()
        self._bundles[record.uid] = record
        self._unwritten[record.uid] = record
        try:
            async with self._writing:
                await self._write_unwritten()
        except StoreUnavailableError as error:
            LOG.warning("what was unpacked for a Bundle is known to this process only: %s", error)

    async def image(self, access: ImageAccess) -> ImageRecord | None:
        return await asyncio.to_thread(self._store.image, access.image, canonical_class(access.provisioner_class))

    async def image_unpacked(self, access: ImageAccess, digest: str, *, artifact_type: str = "") -> None:
        """Record the content of the image, and that this reader has proved access."""
        now = monotonic()
        self._recent |= {uid: now for uid in (access.bundle, access.deployment) if uid}
        record = ImageRecord(
            image=access.image,
            provisioner_class=canonical_class(access.provisioner_class),
            digest=digest,
            artifact_type=artifact_type,
            bundles=(access.bundle,),
            deployments=(access.deployment,),
        )
        try:
            async with self._writing:
                await asyncio.to_thread(self._store.keep_image, record)
        except StoreUnavailableError as error:
            LOG.warning("%s is pulled again by the next Bundle that names it: %s", access.image, error)

    async def sweep(self, in_use: InUse) -> set[str]:
        """Forget what is gone; the digests of the content that is left."""
        async with self._writing:
            return await self._sweep(in_use)

    async def _sweep(self, in_use: InUse) -> set[str]:
        now = monotonic()
        self._recent = {uid: at for uid, at in self._recent.items() if now - at < RECENT_SECONDS}
        kept = InUse(
            bundles=in_use.bundles | self._recent.keys(),
            deployments=in_use.deployments | self._recent.keys(),
            installed=in_use.installed,
        )
        self._bundles = {uid: record for uid, record in self._bundles.items() if is_in_use(record, kept)}
        self._unwritten = {uid: record for uid, record in self._unwritten.items() if uid in self._bundles}
        digests = {record.digest for record in self._bundles.values()}
        await self._write_unwritten()
        await asyncio.to_thread(self._store.sweep, kept)
        return digests

    async def _write_unwritten(self) -> None:
        for uid, record in list(self._unwritten.items()):
            await asyncio.to_thread(self._store.keep_bundle, record)
            if self._unwritten.get(uid) == record:
                del self._unwritten[uid]


class StoredImages:
    """The image source's `UnpackedImages`."""

    def __init__(
        self,
        records: ContentRecords,
        *,
        has: Callable[[str], Awaitable[bool]],
        load: Callable[[str], Awaitable[Tree | None]],
    ) -> None:
        """`has`, `load`: what is stored, by the digest of the content."""
        self._records = records
        self._has = has
        self._load = load

    async def find(self, access: ImageAccess) -> ImageContent | None:
        record = await self._records.image(access)
        if record is None or not record.is_proven_by(bundle=access.bundle, deployment=access.deployment):
            return None
        tree = await self._load(record.digest)
        return ImageContent(tree=tree, artifact_type=record.artifact_type) if tree is not None else None

    async def is_stored(self, access: ImageAccess) -> bool:
        record = await self._records.image(access)
        return record is not None and await self._has(record.digest)

    async def prove(self, access: ImageAccess) -> None:
        record = await self._records.image(access)
        if record is not None:
            await self._records.image_unpacked(access, record.digest, artifact_type=record.artifact_type)

"""Receiving uploads: streamed to disk, and stored for a Bundle in its turn, whole or not at all.

* Only a Bundle of type `upload` that exists takes one, and what was unpacked once never changes: after that, content
  is accepted only with the digest that the Bundle has.
* Any number of clients may upload for one Bundle at a time; each archive is received apart, and the last one counts.
* What a deployment with an account installs, it installs with the rights of that account. So an upload for its Bundle
  takes the right to impersonate the account, in addition to the right to the path.
* The Bundle is read from the API server again before an archive is stored. That, storing it and waking the Bundle are
  one step for the job that records what was unpacked (see `controllers.jobs.Turns`).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import orjson

from rukpak_py.api.accounts import Account
from rukpak_py.api.bundle import Bundle
from rukpak_py.api.names import SourceType
from rukpak_py.api.reading import read_bundle
from rukpak_py.controllers.jobs import ContentBudget, KeyedLock
from rukpak_py.core.errors import ContentError, RukPakError
from rukpak_py.core.metrics import CONTENT_BYTES
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import BUNDLES
from rukpak_py.server.access import Identity
from rukpak_py.sources.source import Workers
from rukpak_py.sources.upload import IncomingUpload, UploadDirectory, UploadedFor


class UploadRefusedError(RukPakError):
    """The answer to an upload that is not accepted."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class LiveBundles:
    """Bundles as the API server has them at this moment, whatever a watch knows."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def read(self, name: str) -> Bundle:
        body = await self._client.get(BUNDLES, "", name)
        try:
            return read_bundle(orjson.loads(body))
        except ContentError as error:
            raise UploadRefusedError(500, f'bundle "{name}" cannot be read: {error}') from error


@dataclass(frozen=True, kw_only=True)
class Unpacking:
    """The part of the operator that unpacks what was uploaded."""

    turns: KeyedLock  # by uid
    budget: ContentBudget
    workers: Workers
    has_content: Callable[[str], Awaitable[bool]]  # by digest
    uploaded: Callable[[Bundle], None]
    pinned_digest: Callable[[Bundle], str]  # of what was unpacked; empty: nothing was
    account_of: Callable[[Bundle], Awaitable[Account | None]]  # with whose rights its deployment installs it


class Uploads:
    def __init__(
        self,
        directory: UploadDirectory,
        bundles: LiveBundles,
        unpacking: Unpacking,
        *,
        may_impersonate: Callable[[Identity, Account], Awaitable[bool]],
        unavailable: Callable[[], str | None] = lambda: None,
    ) -> None:
        """`unavailable`: why no controller would hear of an upload any more."""
        self._may_impersonate = may_impersonate
        self._directory = directory
        self._bundles = bundles
        self._unpacking = unpacking
        self._unavailable = unavailable

    async def receive(self, name: str, uploader: Identity, chunks: AsyncIterator[bytes], *, seconds: float) -> bool:
        """Store the archive; False when it is there already. `UploadRefusedError` and errors of the API say no.

        `seconds`: for the archive to arrive; `TimeoutError` after that. Storing it is not cut off.
        """
        account = await self._demand_rights(uploader, await self._bundle(name))
        incoming = await asyncio.to_thread(self._directory.receive)
        try:
            async with asyncio.timeout(seconds):
                async for chunk in chunks:
                    await incoming.archive.add(chunk)
                    CONTENT_BYTES.labels("received").inc(len(chunk))
            await incoming.archive.complete()
            return await self._store(name, incoming, uploader, account)
        finally:
            await asyncio.to_thread(incoming.close)

    async def _store(self, name: str, incoming: IncomingUpload, uploader: Identity, account: Account | None) -> bool:
        """`account`: that of the deployment when the archive began to arrive."""
        bundle = await self._bundle(name)
        digest = await self._digest(incoming) if self._unpacking.pinned_digest(bundle) else ""
        async with self._unpacking.turns.of(bundle.metadata.uid):
            bundle = await self._bundle(name)
            if await self._unpacking.account_of(bundle) != account:
                await self._demand_rights(uploader, bundle)
            upload = UploadedFor(bundle=name, uid=bundle.metadata.uid)
            if await asyncio.to_thread(self._directory.sha256, upload) == incoming.archive.sha256:
                if not bundle.status.is_unpacked:
                    self._unpacking.uploaded(bundle)
                return False
            pinned = self._unpacking.pinned_digest(bundle)
            if pinned and digest != pinned:
                raise UploadRefusedError(
                    409, "bundle has already been unpacked, cannot change content of existing bundle"
                )
            if (why := self._unavailable()) is not None:
                raise UploadRefusedError(503, why)
            await asyncio.to_thread(incoming.keep, upload)
            if bundle.status.is_unpacked and await self._unpacking.has_content(pinned):
                return False
            self._unpacking.uploaded(bundle)
            return True

    async def _bundle(self, name: str) -> Bundle:
        bundle = await self._bundles.read(name)
        kind = bundle.spec.source.type
        if kind != SourceType.UPLOAD:
            raise UploadRefusedError(409, f'bundle source type is "{kind}"; expected "{SourceType.UPLOAD}"')
        if bundle.metadata.is_deleted:
            raise UploadRefusedError(409, f'bundle "{name}" is being deleted')
        return bundle

    async def _demand_rights(self, uploader: Identity, bundle: Bundle) -> Account | None:
        """The account of the deployment of the Bundle, which the uploader may impersonate. None: there is none."""
        account = await self._unpacking.account_of(bundle)
        if account is not None and not await self._may_impersonate(uploader, account):
            raise UploadRefusedError(
                403,
                f'user "{uploader.user}" cannot impersonate service account {account}, with whose rights the content of'
                f' bundle "{bundle.metadata.name}" is installed; grant impersonate on it',
            )
        return account

    async def _digest(self, incoming: IncomingUpload) -> str:
        """Digest of the content; empty when it is none."""
        async with self._unpacking.budget.share() as content_arrives:
            await content_arrives()
            try:
                tree = await incoming.archive.tree(self._unpacking.workers)
                return await asyncio.to_thread(lambda: tree.digest)
            except ContentError:
                return ""

"""Whether an object of our kinds still exists. An object whose owner has a uid that is gone is collected at once.

Kopf does not report what was deleted while its watch was broken. A list of metadata, every ten minutes, at each of
Kopf's own re-lists and after its connection was lost, shows what is gone. An object that came into the cache after the
list was asked for is not gone, whatever the list says. The list is consistent, so its version also tells whether etcd
was restored from a backup: nothing is dropped on such a list.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Generic

from rukpak_py.controllers.cache import Cache, Kind
from rukpak_py.core.metrics import MISSED_DELETIONS
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError, ForbiddenError, KindNotServedError, NotFoundError
from rukpak_py.kube.resources import Resource
from rukpak_py.kube.seen_versions import SeenVersions

UNHEARD_OF_SECONDS = 600.0  # without an event an object is looked at before anything is created for it


class Existence(Generic[Kind]):
    def __init__(
        self, client: Client, resource: Resource, cache: Cache[Kind], *, on_gone: Callable[[Kind], None]
    ) -> None:
        """`on_gone`: the API server says that it is gone, and no watch had."""
        self._client = client
        self._resource = resource
        self._cache = cache
        self._on_gone = on_gone

    async def still_exists(self, obj: Kind, *, is_doubtful: bool) -> bool:
        metadata = obj.metadata
        if not is_doubtful and monotonic() - self._cache.seen_at(metadata.name) < UNHEARD_OF_SECONDS:
            return True
        try:
            live = await self._client.get_metadata(self._resource, "", metadata.name)
        except NotFoundError:
            live = None
        if live is None or live.uid != metadata.uid:
            self._on_gone(obj)
            return False
        self._cache.confirm(metadata.name)
        return not live.is_deleted


LOG = logging.getLogger(__name__)
INTERVAL = 600.0
RETRY = 10.0  # seconds after a list that failed


@dataclass(frozen=True, kw_only=True)
class ListedKind:
    resource: Resource
    cache: Cache[Any]
    gone: Callable[[Any], None]
    listed: tuple[Callable[[AbstractSet[str], float], None], ...] = ()  # told all uids, and when they were asked for
    is_optional: bool = False  # the kind need not be served: nothing is learnt about it then


class MissedDeletions:
    def __init__(
        self,
        client: Client,
        watched: Collection[ListedKind],
        *,
        after: Callable[[], None],
        versions: SeenVersions,
        interval: float = INTERVAL,
        retry: float = RETRY,
    ) -> None:
        """`after` is called when all were compared. `versions` notices a list that is older than what was seen."""
        self._client = client
        self._watched = watched
        self._after = after
        self._versions = versions
        self._interval = interval
        self._retry = retry
        self._asked = asyncio.Event()
        self.is_sure = False  # the caches were compared with a consistent list at least once

    def ask(self) -> None:
        """A re-list was seen: look soon."""
        self._asked.set()

    async def run(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._interval):
                    await self._asked.wait()
            self._asked.clear()
            try:
                newest = [await self._compare(watched) for watched in self._watched]
            except ApiError as error:
                LOG.warning("could not list our own kinds to find missed deletions: %s", error)
                self._asked.set()
                await asyncio.sleep(self._retry)
                continue
            if all(newest):
                self.is_sure = True
                self._after()

    async def _compare(self, watched: ListedKind) -> bool:
        """False when the list is older than what was seen: it proves nothing then."""
        began, before = monotonic(), self._seen(watched)
        try:
            listing = await self._client.list_metadata(watched.resource)
        except (KindNotServedError, ForbiddenError) as error:
            if not watched.is_optional:
                raise
            LOG.debug("missed deletions of an optional kind cannot be found: %s", error)
            return True
        if not self._versions.listed(watched.resource, listing.resource_version, before=before):
            return False  # etcd was restored: the process ends, and the next one begins without caches
        there = {live.metadata.uid for live in listing.items}
        for obj in watched.cache:
            metadata = obj.metadata
            if metadata.uid not in there and watched.cache.seen_at(metadata.name) < began:
                LOG.info("%s is gone, and no watch reported its deletion", watched.resource.key("", metadata.name))
                MISSED_DELETIONS.labels(watched.resource.gvk.kind).inc()
                watched.cache.drop(metadata.name, metadata.uid)
                watched.gone(obj)
        for listed in watched.listed:
            listed(there, began)
        return True

    def _seen(self, watched: ListedKind) -> int:
        """The highest version of this resource that anybody here has seen: a watch, a list, the objects themselves."""
        for obj in watched.cache:
            self._versions.seen(watched.resource, obj.metadata.resource_version)
        return self._versions.get(watched.resource)

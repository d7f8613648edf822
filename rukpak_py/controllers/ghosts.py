"""Objects whose deletion no watch delivered: Kopf does not tell what was deleted while its watch was broken.

A list of metadata, every ten minutes and after each of Kopf's own re-lists, shows who is gone. What came into the cache
after the list was asked for is no ghost, whatever the list says.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any

from rukpak_py.controllers.cache import Cache
from rukpak_py.core.metrics import GHOSTS
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.resources import Resource

LOG = logging.getLogger(__name__)
INTERVAL = 600.0
RETRY = 10.0  # seconds after a list that failed


@dataclass(frozen=True, kw_only=True)
class Watched:
    resource: Resource
    cache: Cache[Any]
    gone: Callable[[Any], None]


class GhostHunt:
    def __init__(
        self,
        client: Client,
        watched: Collection[Watched],
        *,
        after: Callable[[], None],
        interval: float = INTERVAL,
        retry: float = RETRY,
    ) -> None:
        self._client = client
        self._watched = watched
        self._after = after
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
                for watched in self._watched:
                    await self._hunt(watched)
            except ApiError as error:
                LOG.warning("could not look for objects that are gone: %s", error)
                self._asked.set()
                await asyncio.sleep(self._retry)
                continue
            self.is_sure = True
            self._after()

    async def _hunt(self, watched: Watched) -> None:
        began = monotonic()
        listing = await self._client.list_metadata(watched.resource)
        there = {live.metadata.uid for live in listing.items}
        for obj in watched.cache:
            metadata = obj.metadata
            if metadata.uid not in there and watched.cache.seen_at(metadata.name) < began:
                LOG.info("%s %s is gone; no watch had said so", watched.resource.gvk.kind, metadata.name)
                GHOSTS.labels(watched.resource.gvk.kind).inc()
                watched.cache.drop(metadata.name, metadata.uid)
                watched.gone(obj)

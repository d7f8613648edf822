"""What the operator needs of the API server before it may lead: to list and watch its own kinds, Namespaces and CRDs.

Asked by doing it: a list of one object and a watch that is closed at once, because rights alone do not say that a kind
is served. A replica that lacks something stays up, is not ready, says why, and leaves the lease to others.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence

from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError, KindNotServedError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CRDS, NAMESPACES, Resource, not_served

LOG = logging.getLogger(__name__)
NEEDED = (BUNDLES, BUNDLE_DEPLOYMENTS, CRDS, NAMESPACES)
INTERVAL = 3.0  # seconds between two looks while something is missing
VALID_SECONDS = 10.0


class Prerequisites:
    def __init__(
        self,
        client: Client,
        *,
        needed: Sequence[Resource] = NEEDED,
        interval: float = INTERVAL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._needed = needed
        self._interval = interval
        self._clock = clock
        self._asked_at = -math.inf
        self._missing: str | None = "the API server has not been asked yet"
        self._is_missing = asyncio.Event()
        self._is_told = False  # in the log

    @property
    def missing(self) -> str | None:
        """As of the last look; None when nothing is."""
        return self._missing

    async def wait(self, stop: asyncio.Event) -> None:
        """Until nothing is missing, or until `stop`."""
        stopped = asyncio.create_task(stop.wait())
        met = asyncio.create_task(self._until_met())
        try:
            await asyncio.wait({stopped, met}, return_when=asyncio.FIRST_COMPLETED)
            if met.done():
                met.result()
        finally:
            stopped.cancel()
            met.cancel()
            await asyncio.gather(stopped, met, return_exceptions=True)

    async def _until_met(self) -> None:
        while not await self.are_met():  # noqa: ASYNC110 - the API server announces nothing
            await asyncio.sleep(self._interval)

    async def follow(self) -> None:
        """While something is missing, look again: it is part of readiness."""
        while True:
            await self._is_missing.wait()
            await asyncio.sleep(self._interval)
            await self.are_met()

    async def are_met(self) -> bool:
        """An answer is not asked for again for a few seconds."""
        valid = VALID_SECONDS if self._missing is None else self._interval
        if self._clock() < self._asked_at + valid:
            return self._missing is None
        found = await asyncio.gather(*(self._lacks(resource) for resource in self._needed))
        missing = "; ".join(text for text in found if text is not None) or None
        if missing is None:
            self._is_missing.clear()
            if self._is_told:
                LOG.info("may lead: nothing is missing any more")
            self._is_told = False
        else:
            self._is_missing.set()
            if missing != self._missing:
                LOG.warning("not leading: %s", missing)
                self._is_told = True
        self._missing, self._asked_at = missing, self._clock()
        return missing is None

    async def _lacks(self, resource: Resource) -> str | None:
        try:
            version = await self._client.current_version(resource, verb="review")
            await self._client.try_watch(resource, version)
        except KindNotServedError:
            return not_served(resource)
        except (ApiError, TimeoutError) as error:
            return f"cannot list and watch {resource.plural}: {str(error) or 'no answer in time'}"
        return None

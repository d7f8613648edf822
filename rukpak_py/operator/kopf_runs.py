"""Kopf for as long as this replica leads. It begins anew when an optional kind comes, or goes.

Kopf looks for the kinds of its handlers once, at its start: what is not served then it never watches, and for what goes
it asks for ever. So a kind that need not be served (the CRDs may be older than the operator) costs a new start of Kopf
when that changes. What is listed again is known, so nothing follows from it.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from rukpak_py.kube.resources import Resource
from rukpak_py.operator.kopf_shell import KopfThread
from rukpak_py.operator.kopf_watches import KopfWatches

LOG = logging.getLogger(__name__)
INTERVAL = 1.0


class KopfRuns:
    def __init__(
        self,
        start: Callable[[], KopfThread],
        watches: KopfWatches,
        *,
        optional: Sequence[Resource],
        is_served: Callable[[Resource], bool],
        interval: float = INTERVAL,
    ) -> None:
        self._start = start
        self._watches = watches
        self._optional = optional
        self._is_served = is_served
        self._interval = interval
        self._thread: KopfThread | None = None

    @property
    def last_beat(self) -> float | None:
        """Monotonic; None before the start."""
        return self._thread.last_beat if self._thread is not None else None

    async def run(self) -> None:
        """Until cancelled; the end of Kopf by itself is the end of this."""
        while True:
            self._thread = self._start()
            running = asyncio.create_task(self._thread.run(), name="Kopf")
            outdated = asyncio.create_task(self._until_outdated())
            try:
                await asyncio.wait({running, outdated}, return_when=asyncio.FIRST_COMPLETED)
                if running.done():
                    return running.result()
                LOG.info("restarting Kopf: %s", outdated.result())
            finally:
                running.cancel()
                outdated.cancel()
                await asyncio.gather(running, outdated, return_exceptions=True)

    async def _until_outdated(self) -> str:
        """Twice in a row, because Kopf asks for one kind after the other. The answer says what changed."""
        seen = ""
        while True:
            await asyncio.sleep(self._interval)
            found = self._changed() if self._watches.have_begun else ""
            if found and found == seen:
                return found
            seen = found

    def _changed(self) -> str:
        for resource in self._optional:
            is_served = self._is_served(resource)
            if is_served != self._watches.has_begun(resource):
                return f"{resource.gvk.kind} is {'now served' if is_served else 'not served any more'}"
        return ""

"""Work after deletions: stop unused watches, sweep content without references, put back what must not be gone.

Nothing here is urgent, and nothing of it may end the process: what fails is logged and tried again later.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from rukpak_py.api.bundle_deployment import BundleDeployment, Installation
from rukpak_py.api.installed import installed_of
from rukpak_py.apply.inventory import Watched
from rukpak_py.content.records import InUse
from rukpak_py.controllers.deployment.recorded_kinds import watches_of
from rukpak_py.controllers.event_router import EventRouter
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import GroupKind

LOG = logging.getLogger(__name__)
TIDY_AFTER = 1.0  # seconds; deletions come in groups
TRY_AGAIN_AFTER = 60.0


class Watches(Protocol):
    by_namespace: frozenset[GroupKind]

    async def retain(self, used: set[Watched], /) -> None: ...


class Sweepable(Protocol):
    async def sweep(self, kept: set[str], linked: set[str], in_use: InUse, /) -> None: ...


class Housekeeping:
    def __init__(
        self,
        router: EventRouter,
        *,
        watches: Watches,
        content: Sweepable,
        is_sure: Callable[[], bool],
        sweep_uploads: Callable[[], Awaitable[None]],
        sweep_renderings: Callable[[], Awaitable[None]],
        stop_hook_watches: Callable[[], Awaitable[None]],
        restore_key: Callable[[], Awaitable[None]],
        may_stop_watches: Callable[[], bool],
        tidy_after: float = TIDY_AFTER,
        try_again_after: float = TRY_AGAIN_AFTER,
    ) -> None:
        """`is_sure`: the caches were compared with the cluster, so what they do not have is not there.

        `sweep_uploads` knows which Bundles there are. `may_stop_watches`: no deployment that is gone needs the watches
        any more. `restore_key`: the Secret with the key of our digests may be gone.
        """
        self._router = router
        self._watches = watches
        self._content = content
        self._is_sure = is_sure
        self._sweep_uploads = sweep_uploads
        self._sweep_renderings = sweep_renderings
        self._stop_hook_watches = stop_hook_watches
        self._restore_key = restore_key
        self._may_stop_watches = may_stop_watches
        self._tidy_after = tidy_after
        self._try_again_after = try_again_after
        self._asked = asyncio.Event()

    def soon(self) -> None:
        self._asked.set()

    async def run(self) -> None:
        while True:
            await self._asked.wait()
            await asyncio.sleep(self._tidy_after)
            self._asked.clear()
            try:
                await self._tidy()
            except (RukPakError, OSError) as error:
                LOG.warning("could not clean up, trying again later: %s", error)
                self._asked.set()
                await asyncio.sleep(self._try_again_after)

    async def _tidy(self) -> None:
        await self._restore_key()
        bundles, deployments = self._router.bundles.cache, self._router.deployments.cache
        if self._router.deployments.queue.is_idle and self._may_stop_watches():
            kinds = (kind for one in deployments for kind in one.status.kinds)
            await self._watches.retain(set(watches_of(kinds, self._watches.by_namespace)))
            await self._stop_hook_watches()
        if self._is_sure():
            installed = {(one.metadata.uid, past.digest) for one in deployments for past in _history(one)}
            kept = {one.status.digest for one in bundles} | {digest for _, digest in installed}
            in_use = InUse(
                bundles={one.metadata.uid for one in bundles},
                deployments={one.metadata.uid for one in deployments},
                installed=installed,
            )
            await self._content.sweep(kept, {one.metadata.name for one in bundles}, in_use)
            await self._sweep_renderings()
        await self._sweep_uploads()


def _history(deployment: BundleDeployment) -> tuple[Installation, ...]:
    installed = installed_of(deployment.status)
    return installed.history if installed is not None else ()

"""Parts that only the leader runs: the controllers, their watches, their workers, and Kopf, put together.

It ends in one of two ways. Cancelled, it drains: no new work, what is in hand may end; the lease is renewed meanwhile.
Abandoned, because the lease is lost, it stops at once: the client's fence lets no write through any more.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

import msgspec

from rukpak_py.api.accounts import Account
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, BUNDLE_INSTANCE_KIND, BUNDLE_KIND
from rukpak_py.controllers.config_map_watches import BundleWatch, ConfigMapWatch
from rukpak_py.controllers.queue import WORKERS
from rukpak_py.controllers.reconcile_loop import work
from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.metrics import QUEUE_DEPTH, exported
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import Connection
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES, BUNDLES
from rukpak_py.kube.seen_versions import OnRestore
from rukpak_py.kube.watching import WatchStatus
from rukpak_py.operator.kopf_shell import KopfRuns, KopfThread
from rukpak_py.operator.leader_parts import LeaderParts
from rukpak_py.operator.settings import Settings
from rukpak_py.server.served_content import ServedContent

LOG = logging.getLogger(__name__)
DRAIN_SECONDS = 10.0  # seconds for what the workers have in hand ...
EVENT_FLUSH_SECONDS = 5.0  # ... and for the Events about it


class Leader:
    def __init__(
        self,
        settings: Settings,
        connection: Connection,
        client: Client,
        bundles: BundleWatch,
        config_maps: ConfigMapWatch,
        *,
        on_restore: OnRestore,
        on_end: Callable[[], None],
    ) -> None:
        """`bundles` and `config_maps`: the watches that every replica has. The first ends when Kopf has taken over.

        `on_restore` is called when etcd was restored from a backup, `on_end` when a part has ended by itself and the
        rest is about to be stopped.
        """
        self._on_end = on_end
        self._bundles = bundles
        self._handed_over = {kind.plural: asyncio.Event() for kind in (BUNDLES, BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES)}
        self._parts = LeaderParts(
            settings,
            client,
            config_maps,
            on_restore=on_restore,
            on_gap=self._look_for_missed_deletions,
            on_handed_over=self._note_handed_over,
        )
        self._kopf = KopfRuns(
            lambda: KopfThread(connection, self._parts.router.handlers(), self._parts.kopf_watches),
            self._parts.kopf_watches,
            optional=(BUNDLE_INSTANCES,),
            is_served=self._parts.cluster.serves,
        )
        self._is_abandoned = False
        self._loop: asyncio.AbstractEventLoop | None = None  # while it leads

    async def permissions_of(self, name: str, may_impersonate: Callable[[Account], Awaitable[bool]]) -> bytes | None:
        """Permissions that the account of a BundleDeployment needs, as JSON; None: there is no such deployment.

        UnavailableError: this replica does not know the deployments, or not yet.
        """
        self._check_deployments_are_known()
        report = await self._parts.deployments.permission_reports.of(name, may_impersonate)
        return msgspec.json.encode(report) if report is not None else None

    async def plan_of(self, name: str, may_impersonate: Callable[[Account], Awaitable[bool]]) -> bytes | None:
        """The plan of what a BundleDeployment wants now, as JSON; with the same answers otherwise."""
        self._check_deployments_are_known()
        report = await self._parts.deployments.plan_reports.of(name, may_impersonate)
        return await asyncio.to_thread(msgspec.json.encode, report) if report is not None else None

    def _check_deployments_are_known(self) -> None:
        if not self._handed_over[BUNDLE_DEPLOYMENTS.plural].is_set():
            raise UnavailableError("the BundleDeployments are not known to this replica, or not yet")

    @property
    def served(self) -> ServedContent:
        return self._parts.bundles.served

    def watches(self) -> Iterator[WatchStatus]:
        """Watches that a leader cannot do without, since it began to lead."""
        for informer in self._parts.cluster.informers():
            if informer.status is not None:
                yield informer.status
        if self._kopf.last_beat is not None:
            yield from self._parts.kopf_watches.statuses()

    def other_watches(self) -> Iterator[WatchStatus]:
        own = (*self._parts.own_informers, self._parts.bundles.unpack_pods.informer, self._parts.quotas.informer)
        of_deployments = (
            *self._parts.inventory.informers().values(),
            *self._parts.deployments.hook_watch.informers.values(),
            *self._parts.guard.informers,
        )
        for informer in (*of_deployments, *own):
            if informer is not None and informer.status is not None:
                yield informer.status
        yield from self._parts.kopf_watches.other_statuses()

    def heartbeats(self) -> Mapping[str, float]:
        return {"Kopf": self._kopf.last_beat} if self._kopf.last_beat is not None else {}

    def abandon(self) -> None:
        """The lease is lost: when `lead` is cancelled now, or again while it drains, it ends without another write."""
        self._is_abandoned = True

    async def lead(self) -> None:
        """Lead until cancelled, or until a part ends that must not end."""
        self._loop = asyncio.get_running_loop()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._parts.reading.close)
            await self._parts.reading.open()
            await self._parts.content.open()
            stack.callback(self._parts.bundles.served.close)
            await self._parts.bundles.served.open()
            await self._parts.api_server_addresses.refresh()
            self._parts.recorder.start()
            stack.push_async_callback(self._close_recorder)
            stack.enter_context(exported(self._parts.object_metrics))
            await self._parts.cluster.start()
            stack.push_async_callback(self._parts.cluster.close)
            stack.push_async_callback(self._parts.inventory.close)
            for informer in self._parts.own_informers:
                informer.start()
                stack.push_async_callback(informer.stop)
            self._parts.bundles.start_watching_pods()
            stack.push_async_callback(self._parts.bundles.unpack_pods.close)
            stack.push_async_callback(self._parts.quotas.stop)
            stack.push_async_callback(self._parts.guard.close)
            known = asyncio.create_task(self._know_bundles(), name="know Bundles")
            workers = [asyncio.create_task(coroutine, name="a worker") for coroutine in self._workers(known)]
            stack.push_async_callback(self._drain, workers)
            parts = [
                *workers,
                asyncio.create_task(self._parts.missed_deletions.run(), name="missed deletions"),
                asyncio.create_task(self._parts.housekeeping.run(), name="housekeeping"),
                asyncio.create_task(self._parts.left_behind.run(), name="left behind"),
                asyncio.create_task(self._parts.reapply(), name="reapplying"),
                asyncio.create_task(self._parts.api_server_addresses.run(), name="addresses of the API server"),
                asyncio.create_task(self._watch_queues(), name="queue depth"),
                asyncio.create_task(self._parts.store_use.run(), name="store use"),
                asyncio.create_task(self._kopf.run(), name="Kopf"),
            ]
            if self._parts.cluster.task is not None:
                parts.append(self._parts.cluster.task)
            others = [part for part in parts if part not in workers]
            try:
                done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
                LOG.error("stopping, because a part of the operator ended: %s", _names_of(done))
                self._on_end()
                for part in done:
                    part.result()
                raise UnavailableError(f"a part of the operator ended by itself: {_names_of(done)}")
            finally:
                self._parts.bundles.served.close()
                self._parts.router.close()
                others.append(known)
                for part in parts if self._is_abandoned else others:
                    part.cancel()
                await asyncio.gather(*others, return_exceptions=True)

    def _workers(self, known: asyncio.Task[None]) -> list[Coroutine[Any, Any, None]]:
        """`known`: the Bundles are. Kopf lists all kinds at once; an owner that came first would create what exists.

        All deployments are known before any is worked on: one that depends on others would miss them.
        """

        async def work_on_deployments() -> None:
            await asyncio.shield(known)
            await self._handed_over[BUNDLE_DEPLOYMENTS.plural].wait()
            await work(
                BUNDLE_DEPLOYMENT_KIND,
                self._parts.router.deployments.queue,
                self._parts.deployments.reconciler.reconcile,
            )

        async def work_on_bundles() -> None:
            await work(BUNDLE_KIND, self._parts.router.bundles.queue, self._parts.bundles.reconciler.reconcile)

        async def work_on_instances() -> None:
            await asyncio.shield(known)
            await self._handed_over[BUNDLE_DEPLOYMENTS.plural].wait()
            await work(BUNDLE_INSTANCE_KIND, self._parts.router.instances.queue, self._parts.instances.reconcile)

        kinds = (work_on_bundles, work_on_deployments, work_on_instances)
        return [one() for one in kinds for _ in range(WORKERS)]

    async def _know_bundles(self) -> None:
        await self._handed_over[BUNDLES.plural].wait()
        users, watches = self._parts.router.config_map_users, self._parts.kopf_watches
        await self._bundles.hand_over(users, lambda: watches.status(BUNDLES))

    async def _drain(self, workers: Sequence[asyncio.Task[None]]) -> None:
        """Let the workers finish what they have in hand, unless we were abandoned; a cancellation means just that."""
        try:
            if not self._is_abandoned:
                await asyncio.wait(workers, timeout=DRAIN_SECONDS)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(
                *workers,
                self._parts.bundles.reconciler.close(),
                self._parts.deployments.close(),
                return_exceptions=True,
            )

    async def _close_recorder(self) -> None:
        await self._parts.recorder.close(0.0 if self._is_abandoned else EVENT_FLUSH_SECONDS)

    def _look_for_missed_deletions(self) -> None:
        """Called in Kopf's thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._parts.missed_deletions.ask)

    def _note_handed_over(self, plural: str) -> None:
        """Called in Kopf's thread, after all that it handed over: calls keep their order."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._handed_over[plural].set)

    async def _watch_queues(self) -> None:
        while True:
            QUEUE_DEPTH.labels(BUNDLE_KIND).set(len(self._parts.router.bundles.queue))
            QUEUE_DEPTH.labels(BUNDLE_DEPLOYMENT_KIND).set(len(self._parts.router.deployments.queue))
            QUEUE_DEPTH.labels(BUNDLE_INSTANCE_KIND).set(len(self._parts.router.instances.queue))
            await asyncio.sleep(1)


def _names_of(parts: Iterable[asyncio.Task[None]]) -> str:
    return ", ".join(sorted(part.get_name() for part in parts))

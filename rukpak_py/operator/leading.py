"""What only the leader runs: the controllers, their watches, their workers, and Kopf, put together.

It ends in one of two ways. Cancelled, it drains: no new work, what is in hand may end; the lease is renewed meanwhile.
Abandoned, because the lease is lost, it stops at once: the client's fence lets no write through any more.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any

from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, BUNDLE_KIND, SourceType
from rukpak_py.api.reading import read_bundle
from rukpak_py.api.source import Source
from rukpak_py.apply.engine import Engine
from rukpak_py.apply.inventory import Inventory
from rukpak_py.controllers.books import Books
from rukpak_py.controllers.bundle import BundleController
from rukpak_py.controllers.bundle_deployment import BundleDeploymentController
from rukpak_py.controllers.cluster import Cluster
from rukpak_py.controllers.ghosts import GhostHunt, Watched
from rukpak_py.controllers.installation import Installation
from rukpak_py.controllers.kinds import BUNDLE_DEPLOYMENTS, BUNDLES
from rukpak_py.controllers.outcome import work
from rukpak_py.controllers.ports import Fetched
from rukpak_py.controllers.rendering import Rendering
from rukpak_py.controllers.settling import Settling
from rukpak_py.controllers.targets import Targets
from rukpak_py.controllers.templates import Templates
from rukpak_py.controllers.uninstall import Uninstall
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.metrics import QUEUE_DEPTH
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import Connection
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.events import EventRecorder
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import CONFIG_MAPS
from rukpak_py.operator.adapters import Events, SystemConfigMaps
from rukpak_py.operator.content import StoredContent
from rukpak_py.operator.housekeeping import Housekeeping
from rukpak_py.operator.kopf_shell import run_kopf
from rukpak_py.operator.settings import Settings
from rukpak_py.operator.waking import CLASSES, Listeners, Waking
from rukpak_py.sources import config_maps

WORKERS = 8  # per kind
DRAIN = 10.0  # seconds for what the workers have in hand ...
TELL = 5.0  # ... and for the Events about it


class Leader:
    def __init__(self, settings: Settings, connection: Connection, client: Client, all_bundles: Informer) -> None:
        """`all_bundles`: the watch of Bundles, whatever their class, that every replica has."""
        self._settings = settings
        self._connection = connection
        self._client = client
        self._all_bundles = all_bundles
        self._waking = Waking()
        self._content = StoredContent(settings.storage_dir, settings.limits)
        self._system_maps = SystemConfigMaps(client, settings.system_namespace)
        self._recorder = EventRecorder(client, component="rukpak", instance=settings.pod_name)
        self._events = Events(self._recorder)
        self._discovery = Discovery(client)
        self._inventory = Inventory(client, on_change=self._waking.object_changed, on_gone=self._waking.object_gone)
        self._cluster = Cluster(client, self._discovery, on_change=self._waking.kinds_changed)
        self._map_watch = Informer(
            client, CONFIG_MAPS, namespace=settings.system_namespace, on_change=self._waking.map_changed
        )
        self._rendering = Rendering(self._content, self._discovery)
        self._bundle_controller = self._make_bundle_controller()
        self._deployment_controller = self._make_deployment_controller()
        self._ghosts = GhostHunt(
            client,
            (
                Watched(resource=BUNDLES, cache=self._waking.bundles, gone=self._waking.bundle_gone),
                Watched(resource=BUNDLE_DEPLOYMENTS, cache=self._waking.deployments, gone=self._waking.deployment_gone),
            ),
            after=self._look_after_content,
        )
        self._housekeeping = Housekeeping(
            self._waking, watches=self._inventory, content=self._content, is_sure=lambda: self._ghosts.is_sure
        )
        self._waking.attach(
            Listeners(
                bundles=self._bundle_controller,
                deployments=self._deployment_controller,
                rendering=self._rendering,
                inventory=self._inventory,
                relisted=self._ghosts.ask,
                deleted=self._housekeeping.soon,
            )
        )
        self._is_abandoned = False

    def abandon(self) -> None:
        """The lease is lost: when `lead` is cancelled now, or again while it drains, it ends without another write."""
        self._is_abandoned = True

    async def lead(self) -> None:
        """Until cancelled, or until a part ends that must not end."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._content.close)
            await self._content.open()
            self._recorder.start()
            stack.push_async_callback(self._close_recorder)
            await self._cluster.start()
            stack.push_async_callback(self._cluster.close)
            stack.push_async_callback(self._inventory.close)
            self._map_watch.start()
            stack.push_async_callback(self._map_watch.stop)
            known = asyncio.create_task(self._know_bundles(), name="know Bundles")
            workers = [asyncio.create_task(coroutine) for coroutine in self._workers(known)]
            stack.push_async_callback(self._drain, workers)
            parts = [
                *workers,
                asyncio.create_task(self._ghosts.run(), name="ghosts"),
                asyncio.create_task(self._housekeeping.run(), name="housekeeping"),
                asyncio.create_task(self._watch_queues(), name="queue depth"),
                asyncio.create_task(run_kopf(self._connection, self._waking.handlers()), name="kopf"),
            ]
            others = [part for part in parts if part not in workers]
            try:
                done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
                for part in done:
                    part.result()
                raise UnavailableError("a part of the operator ended by itself; the process starts again")
            finally:
                self._waking.close()
                others.append(known)
                for part in parts if self._is_abandoned else others:
                    part.cancel()
                await asyncio.gather(*others, return_exceptions=True)

    def _workers(self, known: asyncio.Task[None]) -> list[Coroutine[Any, Any, None]]:
        async def work_on_deployments() -> None:
            await asyncio.shield(known)
            await work(BUNDLE_DEPLOYMENT_KIND, self._waking.deployment_queue, self._deployment_controller.reconcile)

        async def work_on_bundles() -> None:
            await work(BUNDLE_KIND, self._waking.bundle_queue, self._bundle_controller.reconcile)

        return [one() for one in (work_on_bundles, work_on_deployments) for _ in range(WORKERS)]

    async def _know_bundles(self) -> None:
        """Kopf lists both kinds at once: a deployment that came first would create a Bundle that is there already."""
        await self._all_bundles.wait_synced()
        while any(self._is_awaited(live) for live in self._all_bundles):  # noqa: ASYNC110 - two watches change it
            await asyncio.sleep(0.02)

    def _is_awaited(self, live: LiveObject) -> bool:
        """Kopf will tell of it and has not yet."""
        if live.key.name in self._waking.bundles:
            return False
        try:
            return read_bundle(live.json or b"").spec.provisioner_class in CLASSES
        except ContentError:
            return False  # left out there, too

    async def _drain(self, workers: Sequence[asyncio.Task[None]]) -> None:
        """What is in hand may end, unless we were abandoned; being cancelled meanwhile means just that."""
        try:
            if not self._is_abandoned:
                await asyncio.wait(workers, timeout=DRAIN)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, self._bundle_controller.close(), return_exceptions=True)

    async def _close_recorder(self) -> None:
        await self._recorder.close(0.0 if self._is_abandoned else TELL)

    def _look_after_content(self) -> None:
        """Slowly: content that was lost is fetched again before somebody needs it."""
        self._bundle_controller.check_content()
        self._housekeeping.soon()

    async def _watch_queues(self) -> None:
        while True:
            QUEUE_DEPTH.labels(BUNDLE_KIND).set(len(self._waking.bundle_queue))
            QUEUE_DEPTH.labels(BUNDLE_DEPLOYMENT_KIND).set(len(self._waking.deployment_queue))
            await asyncio.sleep(1)

    # The parts, put together

    async def fetch(self, source: Source) -> Fetched:
        """The controllers' `Sources`."""
        match source.type:
            case SourceType.CONFIG_MAPS:
                tree = await config_maps.fetch(source.config_maps, self._system_maps, self._settings.limits)
                return Fetched(tree=tree, resolved=source)
            case other:
                raise ContentError(f'source type "{other}" not supported')

    def _make_bundle_controller(self) -> BundleController:
        return BundleController(
            client=self._client,
            bundles=self._waking.bundles,
            sources=self,
            content=self._content,
            events=self._events,
            classes=CLASSES,
            wake=self._waking.bundle_queue.add,
            on_news=self._waking.wake_owner,
            now=_now,
        )

    def _claimant(self, key: ObjectKey, uid: str) -> str | None:
        return self._deployment_controller.claimant(key, uid)  # which is made after what asks it

    def _make_deployment_controller(self) -> BundleDeploymentController:
        client, inventory = self._client, self._inventory
        targets = Targets(self._discovery)
        books = Books(
            client=client,
            deployments=self._waking.deployments,
            want_content=self._bundle_controller.want_content,
            forget=self._waking.forget_deployment,
            now=_now,
        )
        settling = Settling(client=client, inventory=inventory, targets=targets, events=self._events, now=_now)
        installation = Installation(
            client=client,
            inventory=inventory,
            engine=Engine(client, inventory, is_established=self._cluster.is_established),
            cluster=self._cluster,
            rendering=self._rendering,
            former=lambda deployment: self._waking.bundles.controlled_by(deployment.metadata.uid),
            claimant=self._claimant,
            targets=targets,
            settling=settling,
            books=books,
            events=self._events,
            system_namespace=self._settings.system_namespace,
        )
        return BundleDeploymentController(
            deployments=self._waking.deployments,
            templates=Templates(client, self._waking.bundles, on_new=self._waking.bundle_queue.add),
            installation=installation,
            uninstall=Uninstall(
                client=client, inventory=inventory, discovery=self._discovery, targets=targets, events=self._events
            ),
            books=books,
            events=self._events,
            classes=CLASSES,
        )


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

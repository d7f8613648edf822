"""What only the leader runs: the controllers, their watches, their workers, and Kopf.

Kopf's handlers do two things: put the body into a cache (or drop it) and add a key to a queue. Everybody else is woken
by watches, by the ends of jobs, and by their own back-off; `Who is woken by what` has it in one place.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from time import monotonic
from typing import Any

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import (
    BUNDLE_DEPLOYMENT_KIND,
    BUNDLE_DEPLOYMENT_PLURAL,
    BUNDLE_KIND,
    BUNDLE_PLURAL,
    ORDERED_DELETION_FINALIZER,
    PLAIN_CLASS,
    SourceType,
    canonical_class,
)
from rukpak_py.api.reading import read_bundle, read_bundle_deployment
from rukpak_py.api.source import Source
from rukpak_py.apply.engine import Engine
from rukpak_py.apply.inventory import Inventory
from rukpak_py.controllers.books import Books
from rukpak_py.controllers.bundle import BundleController
from rukpak_py.controllers.bundle_deployment import BundleDeploymentController
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.cluster import Cluster
from rukpak_py.controllers.ghosts import GhostHunt, Watched
from rukpak_py.controllers.installation import Installation
from rukpak_py.controllers.kinds import BUNDLE_DEPLOYMENTS, BUNDLES
from rukpak_py.controllers.outcome import work
from rukpak_py.controllers.ports import Fetched
from rukpak_py.controllers.queue import Queue
from rukpak_py.controllers.rendering import Rendering
from rukpak_py.controllers.settling import Settling
from rukpak_py.controllers.targets import Targets
from rukpak_py.controllers.templates import Templates
from rukpak_py.controllers.uninstall import Uninstall
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.metrics import QUEUE_DEPTH
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import Connection
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.events import EventRecorder
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import CONFIG_MAPS
from rukpak_py.operator.adapters import Events, SystemConfigMaps
from rukpak_py.operator.content import StoredContent
from rukpak_py.operator.kopf_shell import Handler, run_kopf
from rukpak_py.operator.settings import Settings
from rukpak_py.sources import config_maps

LOG = logging.getLogger(__name__)
WORKERS = 8  # per kind
CLASSES = frozenset({PLAIN_CLASS})
TIDY_AFTER = 1.0
DRAIN = 10.0  # seconds for what the workers have in hand


class Leader:
    def __init__(self, settings: Settings, connection: Connection, client: Client, all_bundles: Informer) -> None:
        """`all_bundles`: the watch of Bundles, whatever their class, that every replica has."""
        self._settings = settings
        self._connection = connection
        self._client = client
        self._all_bundles = all_bundles
        self._bundles: Cache[Bundle] = Cache(clock=monotonic)
        self._deployments: Cache[BundleDeployment] = Cache(clock=monotonic)
        self._bundle_queue: Queue[str] = Queue()
        self._deployment_queue: Queue[str] = Queue()
        self._content = StoredContent(settings.storage_dir, settings.limits)
        self._system_maps = SystemConfigMaps(client, settings.system_namespace)
        self._recorder = EventRecorder(client, component="rukpak", instance=settings.pod_name)
        self._events = Events(self._recorder)
        self._discovery = Discovery(client)
        self._inventory = Inventory(client, on_change=self._object_changed, on_gone=self._object_gone)
        self._cluster = Cluster(client, self._discovery, on_change=self._wake_blocked)
        self._map_watch = Informer(
            client, CONFIG_MAPS, namespace=settings.system_namespace, on_change=self._map_changed
        )
        self._rendering = Rendering(self._content, self._discovery)
        self._bundle_controller = self._make_bundle_controller()
        self._deployment_controller = self._make_deployment_controller()
        self._ghosts = GhostHunt(
            client,
            (
                Watched(resource=BUNDLES, cache=self._bundles, gone=self._bundle_gone),
                Watched(resource=BUNDLE_DEPLOYMENTS, cache=self._deployments, gone=self._deployment_gone),
            ),
            after=self._housekeeping,
        )
        self._tidy = asyncio.Event()

    async def lead(self) -> None:
        """Until cancelled, or until a part ends that must not end."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._content.close)
            await self._content.open()
            self._recorder.start()
            stack.push_async_callback(self._recorder.close)
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
                asyncio.create_task(self._tidy_up(), name="tidy"),
                asyncio.create_task(self._watch_queues(), name="queue depth"),
                asyncio.create_task(run_kopf(self._connection, self._handlers()), name="kopf"),
            ]
            others = [part for part in parts if part not in workers]
            try:
                done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
                for part in done:
                    part.result()
                raise UnavailableError("a part of the operator ended by itself; the process starts again")
            finally:
                others.append(known)
                for part in others:
                    part.cancel()
                await asyncio.gather(*others, return_exceptions=True)

    def _workers(self, known: asyncio.Task[None]) -> list[Coroutine[Any, Any, None]]:
        async def work_on_deployments() -> None:
            await asyncio.shield(known)
            await work(BUNDLE_DEPLOYMENT_KIND, self._deployment_queue, self._deployment_controller.reconcile)

        bundles = [work(BUNDLE_KIND, self._bundle_queue, self._bundle_controller.reconcile) for _ in range(WORKERS)]
        return [*bundles, *(work_on_deployments() for _ in range(WORKERS))]

    async def _know_bundles(self) -> None:
        """Kopf lists both kinds at once: a deployment that came first would create a Bundle that is there already."""
        await self._all_bundles.wait_synced()
        while any(self._is_awaited(live) for live in self._all_bundles):  # noqa: ASYNC110 - two watches change it
            await asyncio.sleep(0.02)

    def _is_awaited(self, live: LiveObject) -> bool:
        """Kopf will tell of it and has not yet."""
        if live.key.name in self._bundles:
            return False
        try:
            return read_bundle(live.json or b"").spec.provisioner_class in CLASSES
        except ContentError:
            return False  # left out there, too

    async def _drain(self, workers: Sequence[asyncio.Task[None]]) -> None:
        """No new work; what is in hand may end."""
        self._bundle_queue.close()
        self._deployment_queue.close()
        _, late = await asyncio.wait(workers, timeout=DRAIN)
        for worker in late:
            worker.cancel()
        await self._bundle_controller.close()

    # What Kopf sees

    def _handlers(self) -> list[Handler]:
        return [
            Handler(plural=BUNDLE_PLURAL, is_ours=self._is_ours(self._bundles), seen=self._bundle_seen),
            Handler(
                plural=BUNDLE_DEPLOYMENT_PLURAL,
                is_ours=self._is_ours(self._deployments),
                seen=self._deployment_seen,
            ),
        ]

    def _is_ours(self, cache: Cache[Any]) -> Callable[[Mapping[str, Any]], bool]:
        """The class is ours, or the object is known or held by us: a class that changes away is noticed."""

        def is_ours(body: Mapping[str, Any]) -> bool:
            spec, metadata = body.get("spec") or {}, body.get("metadata") or {}
            return (
                canonical_class(spec.get("provisionerClassName") or "") in CLASSES
                or metadata.get("name") in cache
                or ORDERED_DELETION_FINALIZER in (metadata.get("finalizers") or ())
            )

        return is_ours

    def _bundle_seen(self, event: str | None, body: Mapping[str, Any]) -> None:
        try:
            bundle = read_bundle(body)
        except ContentError as error:
            LOG.warning("left out: %s", error)
            return
        name, uid = bundle.metadata.name, bundle.metadata.uid
        if event == "DELETED":
            known = self._bundles.drop(name, uid)
            self._bundle_gone(known or bundle)
            self._tidy_soon()
            return
        if event is None and name in self._bundles:
            self._ghosts.ask()
        if self._bundles.put(bundle):
            self._bundle_queue.add(name)
            self._wake_owner(bundle)

    def _deployment_seen(self, event: str | None, body: Mapping[str, Any]) -> None:
        try:
            deployment = read_bundle_deployment(body)
        except ContentError as error:
            LOG.warning("left out: %s", error)
            return
        name = deployment.metadata.name
        former = self._deployments.get(name)
        if former is not None and former.metadata.uid != deployment.metadata.uid:
            self._deployment_gone(former)  # its deletion was missed
        if event == "DELETED":
            known = self._deployments.drop(name, deployment.metadata.uid)
            self._deployment_gone(known or deployment)
            self._tidy_soon()
            return
        if event is None and name in self._deployments:
            self._ghosts.ask()
        self._deployment_controller.seen(deployment)
        if self._deployments.put(deployment):
            self._deployment_queue.add(name)

    # Who is woken by what

    def _bundle_gone(self, bundle: Bundle) -> None:
        self._bundle_controller.gone(bundle)
        self._bundle_queue.add(bundle.metadata.name)
        self._wake_owner(bundle)

    def _deployment_gone(self, deployment: BundleDeployment) -> None:
        self._deployment_controller.gone(deployment)
        self._rendering.forget(deployment.metadata.uid)
        self._deployment_queue.add(deployment.metadata.name)

    def _wake_owner(self, bundle: Bundle) -> None:
        owner = bundle.metadata.controller
        name = self._deployments.name_of(owner.uid) if owner is not None else None
        if name is not None:
            self._deployment_queue.add(name)

    def _object_changed(self, owner_uid: str) -> None:
        name = self._deployments.name_of(owner_uid)
        if name is not None:
            self._deployment_queue.add(name)

    def _object_gone(self, key: ObjectKey) -> None:
        for name in self._deployment_controller.waiting_for(key):
            self._deployment_queue.add(name)

    def _wake_blocked(self) -> None:
        for name in self._deployment_controller.blocked:
            self._deployment_queue.add(name)
        for informer in self._inventory.informers().values():
            if not informer.served:
                informer.nudge()

    def _map_changed(self, key: ObjectKey, _old: LiveObject | None, new: LiveObject | None) -> None:
        """A ConfigMap that a failing Bundle waits for has come, or has come back with other content."""
        if new is None:
            return
        for bundle in self._bundles:
            source = bundle.spec.source
            named = {item.config_map.name for item in source.config_maps}
            if key.name in named and not bundle.status.is_unpacked:
                self._bundle_queue.add(bundle.metadata.name)

    # Housekeeping

    def _housekeeping(self) -> None:
        """Slowly: content that was lost is fetched again before somebody needs it."""
        self._bundle_controller.check_content()
        self._tidy_soon()

    def _tidy_soon(self) -> None:
        self._tidy.set()

    async def _tidy_up(self) -> None:
        """After deletions: stop watches that nobody needs, sweep content that nobody refers to."""
        while True:
            await self._tidy.wait()
            await asyncio.sleep(TIDY_AFTER)  # deletions come in groups
            self._tidy.clear()
            used = {GroupKind(kind.group, kind.kind) for one in self._deployments for kind in one.status.kinds}
            if self._deployment_queue.is_idle:
                await self._inventory.retain(used)
            if self._ghosts.is_sure:
                kept = {one.status.digest for one in self._bundles}
                kept |= {past.digest for one in self._deployments for past in one.status.history}
                await self._content.sweep(kept, {one.metadata.name for one in self._bundles})

    async def _watch_queues(self) -> None:
        while True:
            QUEUE_DEPTH.labels(BUNDLE_KIND).set(len(self._bundle_queue))
            QUEUE_DEPTH.labels(BUNDLE_DEPLOYMENT_KIND).set(len(self._deployment_queue))
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
            bundles=self._bundles,
            sources=self,
            content=self._content,
            events=self._events,
            classes=CLASSES,
            wake=self._bundle_queue.add,
            on_news=self._wake_owner,
            now=_now,
        )

    def _make_deployment_controller(self) -> BundleDeploymentController:
        client, inventory = self._client, self._inventory
        targets = Targets(self._discovery)
        books = Books(
            client=client,
            deployments=self._deployments,
            want_content=self._bundle_controller.want_content,
            forget=self._forget,
            now=_now,
        )
        settling = Settling(client=client, inventory=inventory, targets=targets, events=self._events, now=_now)
        installation = Installation(
            client=client,
            inventory=inventory,
            engine=Engine(client, inventory, is_established=self._cluster.is_established),
            cluster=self._cluster,
            rendering=self._rendering,
            former=lambda deployment: self._bundles.controlled_by(deployment.metadata.uid),
            targets=targets,
            settling=settling,
            books=books,
            events=self._events,
            system_namespace=self._settings.system_namespace,
        )
        return BundleDeploymentController(
            deployments=self._deployments,
            templates=Templates(client, self._bundles, on_new=self._bundle_queue.add),
            installation=installation,
            uninstall=Uninstall(
                client=client, inventory=inventory, discovery=self._discovery, targets=targets, events=self._events
            ),
            books=books,
            events=self._events,
            classes=CLASSES,
        )

    def _forget(self, deployment: BundleDeployment) -> None:
        """The API server says that it is gone, and no watch had told us."""
        self._deployments.drop(deployment.metadata.name, deployment.metadata.uid)
        self._deployment_gone(deployment)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

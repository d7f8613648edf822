"""The parts that only the leader has, put together: caches and queues, watches, controllers, and who hears of what."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import DIGEST_KEY_SECRET, EVENT_COMPONENT, EventReason
from rukpak_py.apply.deletions import Deletion
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.observed_object import ObservedObject, observed_object
from rukpak_py.apply.orphan_cleanup import Leftover, OrphanCleanup, owned_by
from rukpak_py.controllers.api_server_addresses import ApiServerAddresses
from rukpak_py.controllers.bundle.owners import BundleOwners
from rukpak_py.controllers.bundle.pinning import Pinning
from rukpak_py.controllers.bundle.reconcile import BundleReconciler
from rukpak_py.controllers.bundle.state import BundleStates
from rukpak_py.controllers.bundle.unpack_pods import UnpackPodWatch
from rukpak_py.controllers.bundle.unpacking import UnpackJobs
from rukpak_py.controllers.cluster import Cluster
from rukpak_py.controllers.config_map_watches import BundleWatch, ConfigMapWatch
from rukpak_py.controllers.content_records import StoredImages
from rukpak_py.controllers.deployment.reapplying import reapply
from rukpak_py.controllers.deployment.state import DeploymentStates
from rukpak_py.controllers.digest_key import DigestKeySecret
from rukpak_py.controllers.event_router import EventRouter, Listeners
from rukpak_py.controllers.events import Recorder, normal, warning
from rukpak_py.controllers.existence import ListedKind, MissedDeletions
from rukpak_py.controllers.housekeeping import Housekeeping
from rukpak_py.controllers.jobs import ContentBudget
from rukpak_py.controllers.quota_watch import QuotaWatch
from rukpak_py.controllers.stored_content import StoredContent, StoredRenderings
from rukpak_py.controllers.system_objects import (
    DEFAULT_ACCOUNT,
    AccountPullSecrets,
    SystemObjects,
    SystemValuesObjects,
)
from rukpak_py.controllers.writes import StatusWriter
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.core.text import named
from rukpak_py.formats.by_class import CLASSES
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.events import EventRecorder, EventSubject
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES, BUNDLES, SECRETS, SERVICE_ACCOUNTS
from rukpak_py.kube.secrets import OwnSecrets
from rukpak_py.kube.seen_versions import OnRestore, SeenVersions
from rukpak_py.operator.controller_parts import DeploymentDependencies, DeploymentParts, instance_reconciler
from rukpak_py.operator.kopf_watches import KopfWatches
from rukpak_py.operator.settings import Settings
from rukpak_py.operator.source_parts import sources_of
from rukpak_py.server.served_content import ServedContent
from rukpak_py.server.uploads import Unpacking
from rukpak_py.sources.image.unpack_methods import ImageUnpack
from rukpak_py.sources.source import FetchRequest
from rukpak_py.sources.upload_directory import UploadDirectory
from rukpak_py.workers.pool import ContentReading


class LeaderParts:
    def __init__(
        self,
        settings: Settings,
        client: Client,
        bundles: BundleWatch,
        config_maps: ConfigMapWatch,
        *,
        on_restore: OnRestore,
        on_gap: Callable[[], None],
    ) -> None:
        """`bundles`, `config_maps`: the watches that every replica has.

        `on_restore` is called when etcd was restored from a backup, `on_gap` in Kopf's thread when its watches may have
        missed something.
        """
        self._client = client
        self._uses_pods = settings.image_unpack is not ImageUnpack.DIRECT
        self._all_bundles = bundles.informer
        self.quotas = QuotaWatch(client)
        self.router = EventRouter(watch_quotas=self.quotas.start)
        self.quotas.subscribe(self.router.quota_changed)
        self._owners = BundleOwners(client, self.router.deployments.cache)
        self._bundle_states = BundleStates()
        self.reading = ContentReading(settings.limits)
        self.content = StoredContent(settings.storage_dir, settings.limits, self.reading.renderers, helm=settings.helm)
        self._uploads = UploadDirectory(settings.upload_dir, settings.limits)
        self._budget = ContentBudget()
        states = DeploymentStates()
        self.recorder = EventRecorder(client, component=EVENT_COMPONENT, instance=settings.pod_name)
        self._events = Recorder(self.recorder, hide=states.hide)
        self.inventory = Inventory(
            client,
            on_change=self.router.object_changed,
            on_gone=self.router.object_gone,
            on_listed=self.router.kinds_changed,
            on_restore=on_restore,
        )
        self.cluster = Cluster(
            client, Discovery(client), on_namespace=self.router.namespace_changed, on_kinds=self._kinds_changed
        )
        config_maps.subscribe(self.router.map_changed)
        self.secrets = Informer(
            client,
            SECRETS,
            namespace=settings.system_namespace,
            keep=False,
            on_change=self._secret_changed,
            on_restore=on_restore,
        )
        system = SystemObjects(client, settings.system_namespace)
        self._digest_key = DigestKeySecret(OwnSecrets(client, settings.system_namespace))
        self._account_secrets = AccountPullSecrets(client, settings.system_namespace)
        self.account = Informer(
            client,
            SERVICE_ACCOUNTS,
            namespace=settings.system_namespace,
            field_selector=f"metadata.name={DEFAULT_ACCOUNT}",
            keep=False,
            on_change=self.router.account_changed,
            on_restore=on_restore,
        )
        self.unpack_pods = UnpackPodWatch(
            client,
            settings.system_namespace,
            on_change=self._pod_changed,
            on_restore=on_restore,
            stays=settings.unpack_pods.keep and settings.image_unpack is ImageUnpack.POD,
        )
        self.api_server_addresses = ApiServerAddresses(client)
        jobs = UnpackJobs(
            sources_of(
                settings,
                system,
                stored=StoredImages(self.content.records, has=self.content.has, load=self.content.load),
                pods=self.unpack_pods,
                account_secrets=self._account_secrets,
                api_servers=self.api_server_addresses.known,
                uploads=self._uploads,
                workers=self.reading.readers,
                spool=self.reading.spool,
                tell=self._tell_of_pod,
                warn=self._warn_of_secret,
            ),
            self.content,
            records=self.content.records,
            states=self._bundle_states,
            deployment_class=self._owners.class_of,
            deployment_uid=self._owners.uid_of,
            installed_as=self._owners.installed_as,
            on_end=self.router.bundles.queue.add,
            budget=self._budget,
        )
        self.bundles = self._bundle_reconciler(settings, jobs)
        self.served = ServedContent(
            self.content,
            self._uploads,
            Unpacking(
                turns=jobs.turns,
                budget=self._budget,
                workers=self.reading.readers,
                has_content=self.content.has,
                uploaded=self.bundles.uploaded,
                pinned_digest=jobs.pinned_digest,
            ),
            self.bundles,
            self.router.bundles.cache,
        )
        self.deployments = DeploymentParts(
            DeploymentDependencies(
                client=client,
                router=self.router,
                inventory=self.inventory,
                cluster=self.cluster,
                content=self.content,
                renderings=StoredRenderings(settings.storage_dir, settings.limits, request_sweep=self._request_sweep),
                states=states,
                values=SystemValuesObjects(system, secrets=self.secrets, config_maps=config_maps.informer),
                digest_keys=self._digest_key,
                events=self._events,
                request_content=self.bundles.request_content,
                now=_now,
                system_namespace=settings.system_namespace,
                hook_seconds=settings.hook_timeout,
                lookup_secrets_in=settings.lookup_secrets_in,
                limits=settings.limits,
            ),
            on_restore=on_restore,
        )
        self.instances = instance_reconciler(client, self.router, self._events)
        versions = SeenVersions(on_restore=on_restore)
        self.missed_deletions = MissedDeletions(
            client,
            (
                ListedKind(resource=BUNDLES, cache=self.router.bundles.cache, gone=self.router.bundles.gone),
                ListedKind(
                    resource=BUNDLE_DEPLOYMENTS,
                    cache=self.router.deployments.cache,
                    gone=self.router.deployments.gone,
                ),
                ListedKind(
                    resource=BUNDLE_INSTANCES,
                    cache=self.router.instances.cache,
                    gone=self.router.instances.gone,
                    is_optional=True,
                ),
            ),
            after=self._look_after_content,
            versions=versions,
        )
        self.kopf_watches = KopfWatches(
            (BUNDLE_DEPLOYMENTS,), optional=(BUNDLE_INSTANCES,), versions=versions, on_gap=on_gap
        )
        self.housekeeping = Housekeeping(
            self.router,
            watches=self.inventory,
            content=self.content,
            is_sure=lambda: self.missed_deletions.is_sure,
            sweep_uploads=self._sweep_uploads,
            sweep_renderings=self.deployments.sweep_renderings,
            stop_hook_watches=self.deployments.stop_unused_hook_watches,
            restore_key=self._digest_key.restore,
            may_stop_watches=lambda: self.left_behind.is_idle,
        )
        self.left_behind = OrphanCleanup(
            client,
            owned=self._owned_by,
            still_exists=self._deployment_exists,
            done=self.housekeeping.soon,
            held=self._tell_held,
        )
        self.reapply = partial(
            reapply,
            self.router.deployments.cache,
            self.deployments.states,
            every=settings.reapply_interval,
            look=self.router.deployments.queue.add,
        )
        self._attach()

    @property
    def own_informers(self) -> tuple[Informer, ...]:
        """Informers of objects that no deployment brings, but for unpack pods, which are not always watched."""
        return self.secrets, self.account, self.deployments.serving_secrets.informer

    def start_watching_pods(self) -> None:
        """An operator before this one may have left some."""
        if self._uses_pods:
            self.unpack_pods.start()

    def _look_after_content(self) -> None:
        """Fetch lost content again slowly, before a client needs it."""
        self.bundles.check_content()
        self.housekeeping.soon()

    def _request_sweep(self) -> None:
        self.housekeeping.soon()

    def _owned_by(self, uid: str) -> Iterator[Leftover]:
        """The objects and the Bundles of a deployment, as our watches show them."""
        yield from owned_by(self.inventory, uid)
        for bundle in self.router.bundles.cache.controlled_by(uid):
            live = self._all_bundles.get(BUNDLES.key("", bundle.metadata.name))
            if live is not None:
                yield Leftover(resource=BUNDLES, live=observed_object(live.key, BUNDLES.gvk, live.metadata))

    def _tell_held(self, deployment: str, live: ObservedObject) -> None:
        """Emit the Event on the object itself: its deployment is gone, and with it the place for a condition."""
        about = EventSubject(gvk=live.gvk, namespace=live.key.namespace, name=live.key.name, uid=live.uid)
        message = (
            f'it is being deleted with its BundleDeployment "{deployment}" and waits for finalizers: '
            f"{named(live.held_by)}; the controllers that set them have to remove them"
        )
        self.recorder.record(about, reason=EventReason.DELETION_HELD, message=message, type="Warning")

    async def _deployment_exists(self, name: str, uid: str) -> bool:
        try:
            return (await self._client.get_metadata(BUNDLE_DEPLOYMENTS, "", name)).uid == uid
        except NotFoundError:
            return False

    async def _sweep_uploads(self, is_sure: bool) -> None:  # noqa: FBT001 - a callback
        """Delete the uploads of Bundles that are gone, whatever their class was."""
        is_known = is_sure and self._all_bundles.synced.is_set()
        uids = {live.metadata.uid for live in self._all_bundles} if is_known else None
        await asyncio.to_thread(self._uploads.sweep, uids)

    def _bundle_reconciler(self, settings: Settings, jobs: UnpackJobs) -> BundleReconciler:
        bundles = self.router.bundles.cache
        pinning = Pinning(
            self.content,
            self.content.records,
            deployment_uid=self._owners.uid_of,
            content_url=lambda name: f"{settings.external_url}/bundles/{name}.tgz",
        )
        return BundleReconciler(
            client=self._client,
            bundles=bundles,
            jobs=jobs,
            content=self.content,
            pinning=pinning,
            writer=StatusWriter(self._client, BUNDLES, bundles),
            events=self._events,
            states=self._bundle_states,
            classes=CLASSES,
            look=self.router.bundles.queue.add,
            wake=self.router.bundles.queue.wake,
            on_news=self._bundle_told,
        )

    def _bundle_told(self, bundle: Bundle) -> None:
        self.router.bundle_changed(bundle)
        self.content.announce()

    def _secret_changed(self, key: ObjectKey, old: LiveObject | None, new: LiveObject | None) -> None:
        self.router.secret_changed(key, old, new)
        if key.name in self._account_secrets.last_names:
            self.router.account_changed(key, old, new)
        if new is None and key.name == DIGEST_KEY_SECRET:
            self._digest_key.deleted()
            self.housekeeping.soon()

    def _pod_changed(self, bundle: str) -> None:
        self.bundles.news(bundle)

    def _tell_of_pod(self, request: FetchRequest, message: str) -> None:
        self._events.about(request).emit([normal(EventReason.UNPACK_POD, message)])

    def _warn_of_secret(self, request: FetchRequest, message: str) -> None:
        self._events.about(request).emit([warning(EventReason.SECRET_NOT_BOUND, message)])

    def _attach(self) -> None:
        """Attach the listeners for events, beside the queues."""
        self.router.bundles.attach(
            Listeners(
                seen=lambda *_: None,
                changed=self.router.bundle_changed,
                gone=self._bundle_gone,
                relisted=self.missed_deletions.ask,
                deleted=lambda _: self.housekeeping.soon(),
            )
        )
        self.router.deployments.attach(
            Listeners(
                seen=self._deployment_seen,
                changed=lambda deployment: self.bundles.deployment_changed(deployment.metadata.uid),
                gone=self._deployment_gone,
                relisted=self.missed_deletions.ask,
                deleted=self._deployment_deleted,
            )
        )
        self.router.instances.attach(
            Listeners(
                seen=lambda *_: None,
                changed=lambda _: None,
                gone=self.instances.gone,
                relisted=self.missed_deletions.ask,
                deleted=lambda _: None,
            )
        )

    def _bundle_gone(self, bundle: Bundle) -> None:
        self.bundles.gone(bundle)
        self._uploads.gone(bundle.metadata.uid)
        self.router.bundle_changed(bundle)

    def _deployment_seen(self, deployment: BundleDeployment, is_listed: bool) -> None:  # noqa: FBT001 - a callback
        state = self.deployments.states.of(deployment.metadata.uid)
        if state is not None:
            state.deletion.seen(deployment.metadata, listed=is_listed)
        self.router.deployment_changed(deployment)

    def _deployment_deleted(self, deployment: BundleDeployment) -> None:
        state = self.deployments.states.of(deployment.metadata.uid)
        deletion = state.deletion if state is not None else Deletion()
        if deletion.is_proven(deployment.metadata):
            self.left_behind.deleted(deployment.metadata.name, deployment.metadata.uid)
        self.housekeeping.soon()

    def _deployment_gone(self, deployment: BundleDeployment) -> None:
        self.deployments.states.end(deployment.metadata.uid)
        self.router.deployment_changed(deployment)

    def _kinds_changed(self, kinds: frozenset[GroupKind]) -> None:
        self.router.kinds_changed(kinds)
        self.inventory.nudge(kinds)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

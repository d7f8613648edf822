"""The parts that only the leader has, put together: caches and queues, watches, controllers, and who hears of what."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.apply.deletions import ProvenDeletions
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.left_behind import LeftBehind, Leftover, owned_by
from rukpak_py.apply.observed_object import observed_object
from rukpak_py.controllers.bundle.reconcile import BundleReconciler
from rukpak_py.controllers.bundle.status_writer import BundleStatusWriter
from rukpak_py.controllers.bundle.unpacking import UnpackJobs
from rukpak_py.controllers.cluster import Cluster
from rukpak_py.controllers.kinds import BUNDLE_DEPLOYMENTS, BUNDLES
from rukpak_py.controllers.missed_deletions import MissedDeletions, Watched
from rukpak_py.core.objects import GroupKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.events import EventRecorder
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.resources import SECRETS
from rukpak_py.kube.seen_versions import OnRestore, SeenVersions
from rukpak_py.operator.adapters import (
    AccountPullSecrets,
    Events,
    StoredImages,
    SystemConfigMaps,
    SystemCredentials,
    source_addresses,
)
from rukpak_py.operator.config_map_watch import ConfigMapWatch
from rukpak_py.operator.content import StoredContent
from rukpak_py.operator.deployment_parts import DeploymentParts, Surroundings
from rukpak_py.operator.event_router import CLASSES, EventRouter, Listeners
from rukpak_py.operator.housekeeping import Housekeeping
from rukpak_py.operator.kopf_watches import KopfWatches
from rukpak_py.operator.settings import Settings
from rukpak_py.sources.by_type import cluster_sources
from rukpak_py.sources.image.source import ImagePorts


class LeaderParts:
    def __init__(
        self,
        settings: Settings,
        client: Client,
        all_bundles: Informer,
        config_maps: ConfigMapWatch,
        *,
        on_restore: OnRestore,
        on_gap: Callable[[], None],
    ) -> None:
        """`all_bundles`: the watch of Bundles, whatever their class, that every replica has; as `config_maps`.

        `on_restore` is called when etcd was restored from a backup, `on_gap` in Kopf's thread when its watches may have
        missed something.
        """
        self._client = client
        self._all_bundles = all_bundles
        self.router = EventRouter()
        self._deletions = ProvenDeletions()
        self.content = StoredContent(settings.storage_dir, settings.limits)
        self.recorder = EventRecorder(client, component="rukpak", instance=settings.pod_name)
        self._events = Events(self.recorder)
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
            on_change=self.router.secret_changed,
            on_restore=on_restore,
        )
        self.bundles = self._bundle_reconciler(settings)
        self.deployments = DeploymentParts(
            Surroundings(
                client=client,
                router=self.router,
                inventory=self.inventory,
                cluster=self.cluster,
                content=self.content,
                events=self._events,
                want_content=self.bundles.want_content,
                now=_now,
                system_namespace=settings.system_namespace,
            )
        )
        versions = SeenVersions(on_restore=on_restore)
        self.missed_deletions = MissedDeletions(
            client,
            (
                Watched(resource=BUNDLES, cache=self.router.bundles.cache, gone=self.router.bundles.gone),
                Watched(
                    resource=BUNDLE_DEPLOYMENTS,
                    cache=self.router.deployments.cache,
                    gone=self.router.deployments.gone,
                ),
            ),
            after=self._look_after_content,
            versions=versions,
        )
        self.kopf_watches = KopfWatches((BUNDLES, BUNDLE_DEPLOYMENTS), versions=versions, on_gap=on_gap)
        self.housekeeping = Housekeeping(
            self.router,
            watches=self.inventory,
            content=self.content,
            is_sure=lambda: self.missed_deletions.is_sure,
            may_stop_watches=lambda: self.left_behind.is_idle,
        )
        self.left_behind = LeftBehind(
            client,
            owned=self._owned_by,
            still_exists=self._deployment_exists,
            done=self.housekeeping.soon,
        )
        self._attach()

    def _look_after_content(self) -> None:
        """Slowly: content that was lost is fetched again before somebody needs it."""
        self.bundles.check_content()
        self.housekeeping.soon()

    def _owned_by(self, uid: str) -> Iterator[Leftover]:
        """The objects and the Bundles of a deployment, as our watches show them."""
        yield from owned_by(self.inventory, uid)
        for bundle in self.router.bundles.cache.controlled_by(uid):
            live = self._all_bundles.get(BUNDLES.key("", bundle.metadata.name))
            if live is not None:
                yield Leftover(resource=BUNDLES, live=observed_object(live.key, BUNDLES.gvk, live.metadata))

    async def _deployment_exists(self, name: str, uid: str) -> bool:
        try:
            return (await self._client.get_metadata(BUNDLE_DEPLOYMENTS, "", name)).uid == uid
        except NotFoundError:
            return False

    def _bundle_reconciler(self, settings: Settings) -> BundleReconciler:
        bundles, queue = self.router.bundles.cache, self.router.bundles.queue
        credentials = SystemCredentials(self._client, settings.system_namespace)
        sources = cluster_sources(
            config_maps=SystemConfigMaps(self._client, settings.system_namespace),
            credentials=credentials,
            image=ImagePorts(
                credentials=credentials,
                pull_secrets=AccountPullSecrets(self._client, settings.system_namespace),
                unpacked=StoredImages(bundles, self.content.load),
            ),
            plain_http=settings.plain_http_registries,
            addresses=source_addresses(settings.allow_source_addresses, self._client.server),
            limits=settings.limits,
            allow_plain_http_credentials=settings.allow_plain_http_credentials,
        )
        return BundleReconciler(
            client=self._client,
            bundles=bundles,
            jobs=UnpackJobs(sources, self.content, on_end=queue.add),
            content=self.content,
            writer=BundleStatusWriter(
                self._client, bundles, self._events, on_news=self.router.bundle_changed, now=_now
            ),
            classes=CLASSES,
            wake=queue.add,
        )

    def _attach(self) -> None:
        """Who hears of events, beside the queues."""
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
                changed=lambda _: None,
                gone=self._deployment_gone,
                relisted=self.missed_deletions.ask,
                deleted=self._deployment_deleted,
            )
        )

    def _bundle_gone(self, bundle: Bundle) -> None:
        self.bundles.gone(bundle)
        self.router.bundle_changed(bundle)

    def _deployment_seen(self, deployment: BundleDeployment, is_listed: bool) -> None:  # noqa: FBT001 - a callback
        self._deletions.seen(deployment.metadata, listed=is_listed)
        self.deployments.uninstall.seen(deployment)

    def _deployment_deleted(self, deployment: BundleDeployment) -> None:
        if self._deletions.gone(deployment.metadata):
            self.left_behind.deleted(deployment.metadata.name, deployment.metadata.uid)
        self.housekeeping.soon()

    def _deployment_gone(self, deployment: BundleDeployment) -> None:
        self._deletions.forget(deployment.metadata.uid)
        self.deployments.gone(deployment)

    def _kinds_changed(self, kinds: frozenset[GroupKind]) -> None:
        self.router.kinds_changed(kinds)
        self.inventory.nudge(kinds)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

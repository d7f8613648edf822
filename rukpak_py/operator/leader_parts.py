"""The parts that only the leader has, put together: caches and queues, watches, controllers, and who hears of what."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial

import orjson

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.bundle_instance import BundleInstance
from rukpak_py.api.names import DIGEST_KEY_SECRET, EVENT_COMPONENT, EventReason
from rukpak_py.api.reading import to_json
from rukpak_py.apply.deletions import Deletion
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.observed_object import ObservedObject, observed_object
from rukpak_py.apply.orphan_cleanup import Leftover, OrphanCleanup, owned_by
from rukpak_py.controllers.api_server_addresses import ApiServerAddresses
from rukpak_py.controllers.cluster import Cluster
from rukpak_py.controllers.config_map_watches import ConfigMapWatch
from rukpak_py.controllers.deployment.identities import Identities
from rukpak_py.controllers.deployment.reapplying import reapply
from rukpak_py.controllers.deployment.recorded_kinds import BY_NAMESPACE
from rukpak_py.controllers.deployment.state import DeploymentStates
from rukpak_py.controllers.digest_key import DigestKeySecret
from rukpak_py.controllers.event_router import EventRouter, Listeners
from rukpak_py.controllers.events import Recorder
from rukpak_py.controllers.existence import ListedKind, MissedDeletions
from rukpak_py.controllers.housekeeping import Housekeeping
from rukpak_py.controllers.judging import Judging
from rukpak_py.controllers.object_metrics import ObjectMetrics
from rukpak_py.controllers.policy_guard import PolicyGuard
from rukpak_py.controllers.ports import ValuesObject
from rukpak_py.controllers.quota_watch import QuotaWatch
from rukpak_py.controllers.store_use import StoreUse
from rukpak_py.controllers.stored_content import StoredContent, StoredRenderings
from rukpak_py.controllers.system_objects import DEFAULT_ACCOUNT, SystemObjects
from rukpak_py.controllers.values_objects import AccountValuesObjects, StoredValuesObjects, SystemValuesObjects
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.core.text import named
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.events import EventRecorder, EventSubject
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject, decode_metadata
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES, BUNDLES, SECRETS, SERVICE_ACCOUNTS
from rukpak_py.kube.secrets import OwnSecrets
from rukpak_py.kube.seen_versions import OnRestore, SeenVersions
from rukpak_py.operator.bundle_parts import BundleParts
from rukpak_py.operator.controller_parts import DeploymentDependencies, DeploymentParts, instance_reconciler
from rukpak_py.operator.kopf_watches import KopfWatches
from rukpak_py.operator.settings import Settings
from rukpak_py.workers.pool import ContentReading


class LeaderParts:
    def __init__(
        self,
        settings: Settings,
        client: Client,
        config_maps: ConfigMapWatch,
        *,
        on_restore: OnRestore,
        on_gap: Callable[[], None],
        on_handed_over: Callable[[str], None],
    ) -> None:
        """`config_maps`: the watch that every replica has.

        `on_restore` is called when etcd was restored from a backup. In Kopf's thread, `on_gap` is called when its
        watches may have missed something, `on_handed_over` with the plural of a kind of which it has handed over all.
        """
        self._client = client
        self.quotas = QuotaWatch(client)
        self.router = EventRouter(watch_quotas=self.quotas.start)
        self.quotas.subscribe(self.router.quota_changed)
        self.reading = ContentReading(settings.limits)
        self.content = StoredContent(settings.storage_dir, settings.limits, self.reading.renderers, helm=settings.helm)
        states = DeploymentStates()
        self.recorder = EventRecorder(client, component=EVENT_COMPONENT, instance=settings.pod_name)
        self._events = Recorder(self.recorder, hide=states.hide)
        self.inventory = Inventory(
            client,
            on_change=self.router.object_changed,
            on_gone=self.router.object_gone,
            on_listed=self.router.kinds_changed,
            on_restore=on_restore,
            by_namespace=BY_NAMESPACE[settings.mode],
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
        self.guard = PolicyGuard(
            client,
            settings.installation,
            is_needed=self._needs_policies,
            on_change=self._policies_changed,
            on_restore=on_restore,
        )
        self._digest_key = DigestKeySecret(OwnSecrets(client, settings.system_namespace))
        self._judging = Judging(client, self.guard, self._digest_key)
        identities = Identities(
            client,
            system_namespace=settings.system_namespace,
            default_account=settings.installation.default_account,
            mode=settings.installation.mode,
            gate=self.guard.demand,
        )
        self.account = Informer(
            client,
            SERVICE_ACCOUNTS,
            namespace=settings.system_namespace,
            field_selector=f"metadata.name={DEFAULT_ACCOUNT}",
            keep=False,
            on_change=self.router.account_changed,
            on_restore=on_restore,
        )
        self.api_server_addresses = ApiServerAddresses(client)
        self.bundles = BundleParts(
            settings,
            client,
            self.router,
            system=system,
            content=self.content,
            reading=self.reading,
            events=self._events,
            identities=identities,
            api_servers=self.api_server_addresses.known,
            on_restore=on_restore,
        )
        self.deployments = DeploymentParts(
            DeploymentDependencies(
                client=client,
                identities=identities,
                router=self.router,
                inventory=self.inventory,
                cluster=self.cluster,
                content=self.content,
                renderings=StoredRenderings(settings.storage_dir, settings.limits, request_sweep=self._request_sweep),
                states=states,
                values=StoredValuesObjects(
                    SystemValuesObjects(system, secrets=self.secrets, config_maps=config_maps.informer),
                    AccountValuesObjects(on_change=self._values_changed),
                ),
                digest_keys=self._digest_key,
                events=self._events,
                request_content=self.bundles.reconciler.request_content,
                now=_now,
                system_namespace=settings.system_namespace,
                default_namespace=settings.default_namespace,
                cluster_domain=settings.cluster_domain,
                judging=self._judging,
                hook_seconds=settings.hook_timeout,
                lookup_secrets_in=settings.lookup_secrets_in,
                limits=settings.limits,
            ),
            on_restore=on_restore,
        )
        self.instances = instance_reconciler(
            client, self.router, self._events, identities=self.deployments.identities, judging=self._judging
        )
        versions = SeenVersions(on_restore=on_restore)
        self.missed_deletions = MissedDeletions(
            client,
            (
                ListedKind(
                    resource=BUNDLES,
                    cache=self.router.bundles.cache,
                    gone=self.router.bundles.gone,
                    listed=(self.router.config_map_users.retain, self.bundles.all_listed),
                ),
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
            (BUNDLES, BUNDLE_DEPLOYMENTS),
            optional=(BUNDLE_INSTANCES,),
            versions=versions,
            on_gap=on_gap,
            on_handed_over=on_handed_over,
        )
        self.housekeeping = Housekeeping(
            self.router,
            watches=self.inventory,
            content=self.content,
            is_sure=lambda: self.missed_deletions.is_sure,
            sweep_uploads=self.bundles.sweep_uploads,
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
        self.object_metrics = ObjectMetrics(
            self.router.bundles.cache,
            self.router.deployments.cache,
            expiries=self.deployments.serving_secrets.expiries,
            per_object=settings.per_object_metrics,
            most=settings.limits.metrics_objects,
        )
        self.store_use = StoreUse({"bundles": settings.storage_dir, "uploads": settings.upload_dir})
        self._attach()

    @property
    def own_informers(self) -> tuple[Informer, ...]:
        """Informers of objects that no deployment brings, but for unpack pods, which are not always watched."""
        return self.secrets, self.account, *self.deployments.serving_secrets.informers()

    def _look_after_content(self) -> None:
        """Fetch lost content again slowly, before a client needs it."""
        self.bundles.reconciler.check_content()
        self.housekeeping.soon()

    def _request_sweep(self) -> None:
        self.housekeeping.soon()

    def _owned_by(self, uid: str) -> Iterator[Leftover]:
        """The objects and the Bundles of a deployment, as our watches show them."""
        yield from owned_by(self.inventory, uid)
        for bundle in self.router.bundles.cache.controlled_by(uid):
            key, metadata = BUNDLES.key("", bundle.metadata.name), decode_metadata(orjson.dumps(to_json(bundle)))
            yield Leftover(resource=BUNDLES, live=observed_object(key, BUNDLES.gvk, metadata))

    def _tell_held(self, deployment: str, live: ObservedObject) -> None:
        """Emit the Event on the object itself: its deployment is gone, and with it the place for a condition."""
        about = EventSubject(gvk=live.gvk, namespace=live.key.namespace, name=live.key.name, uid=live.uid)
        message = (
            f"it is being deleted with its BundleDeployment {deployment} and waits for finalizers: "
            f"{named(live.held_by)}; the controllers that set them have to remove them"
        )
        self.recorder.record(about, reason=EventReason.DELETION_HELD, message=message, type="Warning")

    async def _deployment_exists(self, name: str, uid: str) -> bool:
        try:
            return (await self._client.get_metadata(BUNDLE_DEPLOYMENTS, "", name)).uid == uid
        except NotFoundError:
            return False

    def _secret_changed(self, key: ObjectKey, old: LiveObject | None, new: LiveObject | None) -> None:
        self.router.secret_changed(key, old, new)
        if key.name in self.bundles.account_secrets.last_names:
            self.router.account_changed(key, old, new)
        if new is None and key.name == DIGEST_KEY_SECRET:
            self._digest_key.deleted()
            self.housekeeping.soon()

    def _values_changed(self, one: ValuesObject) -> None:
        """Wake the deployments whose charts take values from it as this account."""
        for deployment in self.router.deployments.cache:
            state = self.deployments.states.of(deployment.metadata.uid)
            if state is not None and one in state.values.objects:
                self.router.deployments.queue.wake(deployment.metadata.name)

    def _attach(self) -> None:
        """Attach the listeners for events, beside the queues."""
        self.router.bundles.attach(
            Listeners(
                seen=lambda *_: None,
                changed=self.router.bundle_changed,
                gone=self.bundles.gone,
                relisted=self.missed_deletions.ask,
                deleted=lambda _: self.housekeeping.soon(),
            )
        )
        self.router.deployments.attach(
            Listeners(
                seen=self._deployment_seen,
                changed=self._deployment_changed,
                gone=self._deployment_gone,
                relisted=self.missed_deletions.ask,
                deleted=self._deployment_deleted,
            )
        )
        self.router.instances.attach(
            Listeners(
                seen=lambda instance, _: self._account_noticed(instance),
                changed=lambda _: None,
                gone=self.instances.gone,
                relisted=self.missed_deletions.ask,
                deleted=lambda _: None,
            )
        )

    def _deployment_seen(self, deployment: BundleDeployment, is_listed: bool) -> None:  # noqa: FBT001 - a callback
        state = self.deployments.states.of(deployment.metadata.uid)
        if state is not None:
            state.deletion.seen(deployment.metadata, listed=is_listed)
        self._account_noticed(deployment)
        self.router.deployment_changed(deployment)

    def _deployment_changed(self, deployment: BundleDeployment) -> None:
        self.bundles.reconciler.deployment_changed(deployment.metadata.uid)
        self.router.dependencies_changed(deployment)

    def _account_noticed(self, one: BundleDeployment | BundleInstance) -> None:
        self._judging.noticed(one.metadata.uid, is_free=not self.deployments.identities.need_proof(one))

    def _deployment_deleted(self, deployment: BundleDeployment) -> None:
        state = self.deployments.states.of(deployment.metadata.uid)
        deletion = state.deletion if state is not None else Deletion()
        if deletion.is_proven(deployment.metadata) and self.deployments.identities.are_own(deployment):
            self.left_behind.deleted(deployment.metadata.name, deployment.metadata.uid)
        self.housekeeping.soon()

    def _deployment_gone(self, deployment: BundleDeployment) -> None:
        self.deployments.states.end(deployment.metadata.uid)
        self.deployments.serving_secrets.ended(deployment.metadata.uid)
        self.router.deployment_changed(deployment)
        self.router.deployment_gone(deployment)

    def _needs_policies(self) -> bool:
        deployments, instances = self.router.deployments.cache, self.router.instances.cache
        return any(map(self.deployments.identities.need_proof, (*deployments, *instances)))

    def _policies_changed(self) -> None:
        for kind in (self.router.deployments, self.router.instances):
            for one in kind.cache:
                if self.deployments.identities.need_proof(one):
                    kind.queue.wake(one.metadata.name)

    def _kinds_changed(self, kinds: frozenset[GroupKind]) -> None:
        self.router.kinds_changed(kinds)
        self.inventory.nudge(kinds)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

"""The controller of Bundles, put together: its sources and what they may reach, jobs, unpack pods, uploads."""

import asyncio
from collections.abc import Set as AbstractSet
from dataclasses import replace

from rukpak_py.api.accounts import Account
from rukpak_py.api.bundle import Bundle
from rukpak_py.api.names import EventReason
from rukpak_py.controllers.bundle.owners import BundleOwners
from rukpak_py.controllers.bundle.pinning import Pinning
from rukpak_py.controllers.bundle.reconcile import BundleReconciler
from rukpak_py.controllers.bundle.state import BundleStates
from rukpak_py.controllers.bundle.unpack_pods import UnpackPodWatch
from rukpak_py.controllers.bundle.unpacking import UnpackJobs
from rukpak_py.controllers.content_records import StoredImages
from rukpak_py.controllers.deployment.identities import Identities
from rukpak_py.controllers.event_router import EventRouter
from rukpak_py.controllers.events import Recorder, normal, warning
from rukpak_py.controllers.jobs import ContentBudget
from rukpak_py.controllers.stored_content import StoredContent
from rukpak_py.controllers.system_objects import AccountPullSecrets, SystemObjects
from rukpak_py.controllers.writes import StatusWriter
from rukpak_py.formats.by_class import CLASSES
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import BUNDLES
from rukpak_py.kube.seen_versions import OnRestore
from rukpak_py.operator.settings import Settings
from rukpak_py.runtime.limits import container_memory, git_memory
from rukpak_py.server.served_content import ServedContent
from rukpak_py.server.uploads import Unpacking
from rukpak_py.sources.addresses import AddressPolicy
from rukpak_py.sources.by_type import SourcePorts, SourcesByType, cluster_sources
from rukpak_py.sources.image.registry_or_pod import ImageUnpackConfig
from rukpak_py.sources.image.source import ImagePorts
from rukpak_py.sources.image.unpack_methods import ImageUnpack
from rukpak_py.sources.logins import Logins
from rukpak_py.sources.source import FetchRequest
from rukpak_py.sources.upload import UploadDirectory
from rukpak_py.workers.pool import NEED_ALL, ContentReading


class BundleParts:
    """The reconciler, and those of its parts that hear of events."""

    def __init__(
        self,
        settings: Settings,
        client: Client,
        router: EventRouter,
        *,
        system: SystemObjects,
        content: StoredContent,
        reading: ContentReading,
        events: Recorder,
        identities: Identities,
        api_servers: AbstractSet[tuple[str, int]],
        on_restore: OnRestore,
    ) -> None:
        """`api_servers`: more of them may become known later."""
        self._router = router
        self._listed: tuple[AbstractSet[str] | None, float] = None, 0.0  # uids of all Bundles, and as of when
        self._content = content
        self._events = events
        self._uses_pods = settings.image_unpack is not ImageUnpack.DIRECT
        self._uploads = UploadDirectory(settings.upload_dir, settings.limits)
        self.account_secrets = AccountPullSecrets(client, settings.system_namespace)
        self.unpack_pods = UnpackPodWatch(
            client,
            settings.system_namespace,
            on_change=self._pod_changed,
            on_restore=on_restore,
            stays=settings.unpack_pods.keep and settings.image_unpack is ImageUnpack.POD,
        )
        owners, states, budget = BundleOwners(client, router.deployments.cache), BundleStates(), ContentBudget()
        bundles, queue = router.bundles.cache, router.bundles.queue

        async def account_of(bundle: Bundle) -> Account | None:
            deployment = await owners.deployment_of(bundle)
            return identities.account_of(deployment) if deployment is not None else None

        jobs = UnpackJobs(
            self._sources(settings, system, reading, api_servers),
            content,
            records=content.records,
            states=states,
            deployment_class=owners.class_of,
            deployment_uid=owners.uid_of,
            installed_as=owners.installed_as,
            formerly=owners.formerly,
            on_end=queue.add,
            budget=budget,
        )
        self.reconciler = BundleReconciler(
            client=client,
            bundles=bundles,
            jobs=jobs,
            content=content,
            pinning=Pinning(
                content,
                content.records,
                deployment_uid=owners.uid_of,
                content_url=lambda name: f"{settings.external_url}/bundles/{name}.tgz",
            ),
            writer=StatusWriter(client, BUNDLES, bundles),
            events=events,
            states=states,
            classes=CLASSES,
            look=queue.add,
            wake=queue.wake,
            on_news=self._told,
        )
        self.served = ServedContent(
            content,
            self._uploads,
            Unpacking(
                turns=jobs.turns,
                budget=budget,
                workers=reading.readers,
                has_content=content.has,
                uploaded=self.reconciler.uploaded,
                pinned_digest=jobs.pinned_digest,
                account_of=account_of,
            ),
            self.reconciler,
            bundles,
        )

    def start_watching_pods(self) -> None:
        """An operator before this one may have left some."""
        if self._uses_pods:
            self.unpack_pods.start()

    def gone(self, bundle: Bundle) -> None:
        self.reconciler.gone(bundle)
        self._uploads.gone(bundle.metadata.uid)
        self._router.bundle_changed(bundle)

    def all_listed(self, uids: AbstractSet[str], asked_at: float) -> None:
        """A consistent list shows all Bundles, whatever their class."""
        self._listed = uids, asked_at

    async def sweep_uploads(self) -> None:
        """Delete the uploads of Bundles that are gone: that a watch saw going, or that the last list does not show."""
        await asyncio.to_thread(self._uploads.sweep, *self._listed)

    def _sources(
        self,
        settings: Settings,
        system: SystemObjects,
        reading: ContentReading,
        api_servers: AbstractSet[tuple[str, int]],
    ) -> SourcesByType:
        def tell_of_pod(request: FetchRequest, message: str) -> None:
            self._events.about(request).emit([normal(EventReason.UNPACK_POD, message)])

        def warn_of_secret(request: FetchRequest, message: str) -> None:
            self._events.about(request).emit([warning(EventReason.SECRET_NOT_BOUND, message)])

        content, logins = self._content, Logins(system, settings.logins, warn=warn_of_secret)
        git_total = git_memory(settings.limits.git_total_memory_bytes, NEED_ALL, container_memory())
        ports = SourcePorts(
            config_maps=system,
            logins=logins,
            image=ImagePorts(
                logins=logins,
                pull_secrets=self.account_secrets,
                unpacked=StoredImages(content.records, has=content.has, load=content.load),
            ),
            unpacking=ImageUnpackConfig(
                way=settings.image_unpack,
                pods=self.unpack_pods,
                settings=settings.unpack_pods,
                tell=tell_of_pod,
            ),
            plain_http=settings.plain_http_registries,
            addresses=AddressPolicy(allowed=settings.allow_source_addresses, api_servers=api_servers),
            limits=replace(settings.limits, git_total_memory_bytes=git_total),
            uploads=self._uploads,
            workers=reading.readers,
            spool=reading.spool,
        )
        return cluster_sources(ports)

    def _pod_changed(self, bundle: str) -> None:
        self.reconciler.news(bundle)

    def _told(self, bundle: Bundle) -> None:
        self._router.bundle_changed(bundle)
        self._content.announce()

"""The composition root: what every replica runs, and what only the leader adds.

Every replica: probes, metrics, the admission webhooks, certificates, the lease. The leader: see `leader`. Any of these
that ends, ends the process, and so does what hangs or can do nothing (see `watchdog`); Kubernetes starts it again, and
everything is found again from the cluster. A process that lacks what it needs waits for it, see `runtime/leading`.

SIGTERM drains: no new work, what is in hand is finished, the lease is given back. The webhooks are served meanwhile,
and for at least the shutdown delay: others hear late that this replica is not ready any more. The loss of the lease
drains nothing: the next leader may begin within seconds.
"""

import asyncio
import logging
import os
import platform
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from functools import partial
from importlib.metadata import version

from rukpak_py import __version__
from rukpak_py.api.names import OPERATOR_LEASE
from rukpak_py.certificates.own_watch import OwnCertificates, WebhookReporter
from rukpak_py.controllers.config_map_watches import BundleWatch, ConfigMapWatch
from rukpak_py.controllers.policy_settling import PolicySettling
from rukpak_py.core.metrics import BUILD_INFO, IS_LEADER
from rukpak_py.kube.calls import Lane
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import Connection, load_connection
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.lease import Holder, LeaderElector
from rukpak_py.kube.watching import WatchStatus
from rukpak_py.operator.leader import Leader
from rukpak_py.operator.settings import Settings
from rukpak_py.operator.webhook_server import webhook_server
from rukpak_py.runtime.cluster_claim import ClusterClaim, Prerequisites
from rukpak_py.runtime.loop import InterpreterTimer, LoopWatchdog
from rukpak_py.runtime.watchdog import EtcdRestoredError, ThreadPoolMonitor, Watchdog, WatchdogLimits
from rukpak_py.server.access import AccessControl, ApiReviews
from rukpak_py.server.admission import Admission
from rukpak_py.server.content import ContentApp
from rukpak_py.server.forwarding import ContentListener
from rukpak_py.server.listener import Listener
from rukpak_py.server.page.bearer import PageSettings
from rukpak_py.server.server_tls import ServerTls, client_authority
from rukpak_py.server.uploads import LiveBundles, Uploads
from rukpak_py.server.web import metrics_app, metrics_port, probe_app, probe_port

LOG = logging.getLogger(__name__)
STOP_SECONDS = 25.0  # for a stop in good order; Kubernetes kills after 30
CLAIM_SECONDS = 2.0  # between two looks at the claim of another operator
LOST_SECONDS = 4.0  # for one without the lease: less than from the deadline for renewing it to its end


async def run(settings: Settings, *, stopping: Callable[[float], None], limits: WatchdogLimits | None = None) -> None:
    """Run until a signal, the loss of the lease, or a failure that only a new start can heal.

    `stopping` is told at the beginning of the end, how many seconds that may take.
    """
    LOG.info("rukpak-py %s, system namespace %s", __version__, settings.system_namespace)
    BUILD_INFO.labels(__version__, platform.python_version(), version("kopf")).set(1)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    connection = await load_connection(settings.kubeconfig)
    async with Client(connection) as client:
        await Replica(settings, connection, client, stopping, limits or WatchdogLimits()).run(stop)


class Replica:
    def __init__(
        self,
        settings: Settings,
        connection: Connection,
        client: Client,
        stopping: Callable[[float], None],
        limits: WatchdogLimits,
    ) -> None:
        self._settings = settings
        self._client = client
        self._stopping = stopping
        vital = client.in_lane(Lane.VITAL)
        self._prerequisites = Prerequisites(client)
        self._policies = PolicySettling(client, settings.installation)
        self._watchdog = Watchdog(
            watches=self._watches, others=self._other_watches, heartbeats=self._heartbeats, limits=limits
        )
        self._claim = ClusterClaim(
            client.in_lane(Lane.LEASE), settings.system_namespace, lease=OPERATOR_LEASE, is_kept=settings.leader_elect
        )
        self._elector = LeaderElector(
            client.in_lane(Lane.LEASE),
            settings.system_namespace,
            OPERATOR_LEASE,
            Holder(pod=settings.pod_name, address=settings.pod_address),
            may_lead=self._may_lead,
            on_loss=self._lost_the_lease,
        )
        writer = client.fenced(self._fence)
        self._bundles = BundleWatch(vital, on_restore=self._watchdog.etcd_restored)
        self._config_maps = ConfigMapWatch(vital, settings.system_namespace, on_restore=self._watchdog.etcd_restored)
        vital_writer, namespace = writer.in_lane(Lane.VITAL), settings.system_namespace
        self._certificates = OwnCertificates(
            namespace,
            webhook_url=settings.webhook_url,
            external_url=settings.external_url,
            cluster_domain=settings.cluster_domain,
            reader=vital,
            writer=vital_writer,
            reporter=WebhookReporter(
                vital_writer, namespace, pod=settings.pod_name, is_in_cluster=bool(settings.pod_address)
            ),
        )
        self._leader = Leader(
            settings,
            connection,
            writer,
            self._bundles,
            self._config_maps,
            on_restore=self._watchdog.etcd_restored,
            on_end=lambda: stopping(STOP_SECONDS),
        )
        self._content = self._content_listener(vital, connection)
        self._threads = ThreadPoolMonitor()
        self._leads = False

    async def run(self, stop: asyncio.Event) -> None:
        """All parts side by side; the end of any of them is the end of all."""
        async with AsyncExitStack() as stack:
            for server in self._servers(stop):
                await server.start()
                stack.push_async_callback(server.stop)
            stack.push_async_callback(self._claim.close)
            await self._prerequisites.wait(stop)
            if not self._settings.leader_elect:  # it leads at once, so that it is ready no sooner than it leads
                await self._wait_until_unclaimed(stop)
            if stop.is_set():
                return
            await self._policies.look()
            for informer in (self._bundles.informer, self._config_maps.informer, *self._certificates.informers):
                informer.start()
                stack.push_async_callback(informer.stop)
            parts = [
                asyncio.create_task(part, name=name)
                for name, part in (
                    ("stop", _as_none(stop)),
                    ("certificates", self._certificates.run(lambda: self._leads)),
                    ("event loop watchdog", LoopWatchdog(end=_end_at_once, timer=InterpreterTimer()).run()),
                    ("watchdog", self._watchdog.run()),
                    ("thread pool", self._threads.run()),
                    ("prerequisites", self._prerequisites.follow()),
                    ("leadership", self._seek_leadership()),
                )
            ]
            try:
                done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
                self._log_end_reasons(done)
            finally:
                self._stopping(STOP_SECONDS)
                self._bundles.informer.start()  # it goes on where it ended: Kopf stops now, the webhooks later
                served_until = asyncio.get_running_loop().time() + self._settings.shutdown_delay
                for part in parts:
                    part.cancel()
                await asyncio.gather(*parts, return_exceptions=True)
            for part in done:
                part.result()
            await asyncio.sleep(served_until - asyncio.get_running_loop().time())

    def _servers(self, stop: asyncio.Event) -> list[Listener | ContentListener]:
        settings = self._settings
        admission = Admission(
            system_namespace=settings.system_namespace,
            config_maps=self._config_maps,
            bundles=self._bundles,
            limits=settings.limits,
        )
        ready = {
            "api": lambda: self._prerequisites.missing,
            "operator": lambda: self._claim.problem,
            "policies": lambda: self._policies.problem,
            "certificate": self._certificates.unloaded,
            "bundles": lambda: self._bundles.problem,
            "config maps": self._system_config_maps,
            "webhook": self._certificates.untrusted,
            "threads": self._threads.exhausted,
            "stop": lambda: "stopping" if stop.is_set() else None,
        }
        probes = probe_app(live={"watchdog": self._watchdog.hanging}, ready=ready)
        return [
            Listener(probes, settings.probes, probe_port(settings.limits)),
            Listener(metrics_app(), settings.metrics, metrics_port(settings.limits)),
            webhook_server(settings, admission, self._client.in_lane(Lane.VITAL), self._certificates),
            self._content,
        ]

    def _content_listener(self, client: Client, connection: Connection) -> ContentListener:
        """Every replica listens, the leader has the content. `client` is without a fence: it writes nothing."""
        settings, served, bundles = self._settings, self._leader.served, LiveBundles(client)
        reviews = ApiReviews(client)
        app = ContentApp(
            access=AccessControl(reviews),
            bundles=bundles,
            content=served,
            uploads=Uploads(
                served.directory,
                bundles,
                served.unpacking,
                may_impersonate=reviews.may_impersonate,
                unavailable=served.unavailable,
            ),
            permissions=self._leader.permissions_of,
            plans=self._leader.plan_of,
            may_impersonate=reviews.may_impersonate,
            limits=settings.limits,
            page=PageSettings(connection=connection, troubleshooting=settings.page_troubleshooting)
            if settings.page
            else None,
        )
        tls = ServerTls(self._certificates.pair, partial(client_authority, client))
        return ContentListener(app, settings.content, tls, settings.limits, leader=self._address_of_leader)

    def _address_of_leader(self) -> str | None:
        """The address of another replica that leads."""
        holder = self._elector.holder
        if not self._settings.leader_elect or self._elector.is_leader or holder is None:
            return None
        return holder.address if holder.address not in {"", self._settings.pod_address} else None

    def _watches(self) -> Iterator[WatchStatus]:
        if self._bundles.informer.status is not None:
            yield self._bundles.informer.status
        yield from self._leader.watches()

    def _other_watches(self) -> Iterator[WatchStatus]:
        for informer in (self._config_maps.informer, *self._certificates.informers):
            if informer.status is not None:
                yield informer.status
        yield from self._leader.other_watches()

    def _fence(self) -> None:
        self._watchdog.fence()
        if self._settings.leader_elect:
            self._elector.fence()

    def _heartbeats(self) -> Mapping[str, float]:
        return {"the thread pool": self._threads.last_beat, **self._leader.heartbeats()}

    def _log_end_reasons(self, ended: set[asyncio.Task[None]]) -> None:
        """Log why parts ended, before anything is stopped: the rest may hang."""
        for part in ended:
            error = part.exception() if not part.cancelled() else None
            if isinstance(error, EtcdRestoredError):
                self._leader.abandon()  # what is in hand belongs to a future that did not happen
            if error is not None:
                LOG.error("stopping (%s): %s", part.get_name(), error)

    def _system_config_maps(self) -> str | None:
        is_known = self._config_maps.informer.synced.is_set()
        return None if is_known else "the ConfigMaps of the system namespace have not been listed yet"

    async def _seek_leadership(self) -> None:
        if self._settings.leader_elect:
            await self._elector.run(self._lead)
            return
        LOG.info("leading without a lease")
        IS_LEADER.set(1)
        await self._lead()

    async def _may_lead(self) -> bool:
        return await self._prerequisites.are_met() and await self._claim.is_ours()

    async def _wait_until_unclaimed(self, stop: asyncio.Event) -> None:
        """The API server announces nothing."""
        while not stop.is_set() and not await self._is_unclaimed():
            with suppress(TimeoutError):
                async with asyncio.timeout(CLAIM_SECONDS):
                    await stop.wait()

    async def _is_unclaimed(self) -> bool:
        try:
            return await self._claim.is_ours()
        except ApiError as error:
            LOG.warning("cannot see whether another operator leads: %s", error)
            return False

    async def _lead(self) -> None:
        self._leads = True
        self._certificates.wake()
        await self._leader.lead()

    def _lost_the_lease(self) -> None:
        LOG.error("the lease is lost; another replica may lead soon, so this one ends at once")
        self._stopping(LOST_SECONDS)
        self._leads = False
        self._leader.abandon()


async def _as_none(stop: asyncio.Event) -> None:
    await stop.wait()
    LOG.info("stopping")


def _end_at_once() -> None:
    os._exit(1)

"""The composition root: what every replica runs, and what only the leader adds.

Every replica: probes, metrics, the admission webhooks, certificates, the lease. The leader: see `leading`. Any of these
that ends, ends the process; Kubernetes starts it again, and everything is found again from the cluster.

SIGTERM drains: no new work, what is in hand is finished, the lease is given back. The webhooks are served meanwhile,
and for at least the shutdown delay: others hear late that this replica is not ready any more. The loss of the lease
drains nothing: whoever leads next may begin within seconds.
"""

import asyncio
import logging
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress

from rukpak_py import __version__
from rukpak_py.controllers.kinds import BUNDLE_DEPLOYMENTS, BUNDLES
from rukpak_py.core.metrics import LOOP_LAG
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import Connection, load_connection
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.lease import Holder, LeaderElector
from rukpak_py.operator.adapters import ConfigMapUsers, SystemConfigMaps, SystemSecrets, WebhookConfigurations
from rukpak_py.operator.leading import Leader
from rukpak_py.operator.settings import Settings
from rukpak_py.operator.webhook_watch import WebhookWatch
from rukpak_py.server.admission import Admission, webhook_app
from rukpak_py.server.certificates import CertificateKeeper
from rukpak_py.server.web import WebServer, metrics_app, probe_app
from rukpak_py.server.webhook_configuration import UrlClient, serving_hosts, webhook_configuration

LOG = logging.getLogger(__name__)
LEASE = "core.rukpak.io"
LAG_PROBE = 0.1
DEFINITIONS = 1.0  # seconds between two looks for our own kinds
STOP_SECONDS = 25.0  # for a stop in good order; Kubernetes kills after 30
LOST_SECONDS = 4.0  # for one without the lease: less than from the deadline for renewing it to its end


async def run(settings: Settings, *, stopping: Callable[[float], None]) -> None:
    """Until a signal, the loss of the lease, or a failure that only a new start can heal.

    `stopping` is told at the beginning of the end, how many seconds that may take.
    """
    LOG.info("rukpak-py %s, system namespace %s", __version__, settings.system_namespace)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    connection = await load_connection(settings.kubeconfig)
    async with Client(connection) as client:
        await Replica(settings, connection, client, stopping).run(stop)


class Replica:
    def __init__(
        self, settings: Settings, connection: Connection, client: Client, stopping: Callable[[float], None]
    ) -> None:
        self._settings = settings
        self._client = client
        self._stopping = stopping
        self._elector = LeaderElector(
            client,
            settings.system_namespace,
            LEASE,
            Holder(pod=settings.pod_name, address=settings.pod_address),
            on_loss=self._lost_the_lease,
        )
        writer = client.fenced(self._elector.fence) if settings.leader_elect else client
        self._users = ConfigMapUsers(client)
        self._configurations = WebhookConfigurations(writer)
        self._keeper = CertificateKeeper(
            secrets=SystemSecrets(writer, settings.system_namespace),
            configurations=self._configurations,
            hosts=serving_hosts(settings.system_namespace, settings.webhook_url),
        )
        self._webhooks = WebhookWatch(client, self._keeper, is_ours_to_make=bool(settings.webhook_url))
        self._leader = Leader(settings, connection, writer, self._users.informer)
        self._leads = False

    async def run(self, stop: asyncio.Event) -> None:
        """All parts side by side; the end of any of them is the end of all."""
        async with AsyncExitStack() as stack:
            for server in self._servers(stop):
                await server.start()
                stack.push_async_callback(server.stop)
            await self._wait_for_definitions(stop)
            if stop.is_set():
                return
            for informer in (self._users.informer, self._webhooks.informer):
                informer.start()
                stack.push_async_callback(informer.stop)
            parts = [
                asyncio.create_task(part, name=name)
                for name, part in (
                    ("stop", _as_none(stop)),
                    ("certificates", self._keeper.run(lambda: self._leads)),
                    ("event loop lag", _measure_lag()),
                    ("leadership", self._seek_leadership()),
                )
            ]
            try:
                done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            finally:
                self._stopping(STOP_SECONDS)
                served_until = asyncio.get_running_loop().time() + self._settings.shutdown_delay
                for part in parts:
                    part.cancel()
                await asyncio.gather(*parts, return_exceptions=True)
            for part in done:
                part.result()
            await asyncio.sleep(served_until - asyncio.get_running_loop().time())

    def _servers(self, stop: asyncio.Event) -> list[WebServer]:
        settings = self._settings
        admission = Admission(
            system_namespace=settings.system_namespace,
            config_maps=SystemConfigMaps(self._client, settings.system_namespace),
            bundles=self._users,
        )
        ready = {
            "certificate": self._certificate,
            "bundles": self._bundles,
            "webhook": self._webhooks.problem,
            "stop": lambda: "stopping" if stop.is_set() else None,
        }
        probes = probe_app(live={}, ready=ready)
        return [
            WebServer(app=probes, address=settings.probes),
            WebServer(app=metrics_app(), address=settings.metrics),
            WebServer(
                app=webhook_app(admission, settings.limits), address=settings.webhook, context=self._keeper.context
            ),
        ]

    def _certificate(self) -> str | None:
        return None if self._keeper.loaded.is_set() else "the webhooks have no certificate yet"

    def _bundles(self) -> str | None:
        return None if self._users.informer.synced.is_set() else "the Bundles have not been listed yet"

    async def _seek_leadership(self) -> None:
        if self._settings.leader_elect:
            await self._elector.run(self._lead)
        else:
            await self._lead()

    async def _lead(self) -> None:
        self._leads = True
        if self._settings.webhook_url:
            await self._configurations.apply(
                webhook_configuration(
                    system_namespace=self._settings.system_namespace, client=UrlClient(self._settings.webhook_url)
                )
            )
        self._keeper.wake()
        await self._leader.lead()

    def _lost_the_lease(self) -> None:
        LOG.error("the lease is lost; another replica may lead soon, so this one ends at once")
        self._stopping(LOST_SECONDS)
        self._leads = False
        self._leader.abandon()

    async def _wait_for_definitions(self, stop: asyncio.Event) -> None:
        """Our own kinds ship in the same manifest as we do; they may be a moment later."""
        discovery, told = Discovery(self._client), False
        while not stop.is_set():
            try:
                await discovery.refresh()
                missing = [one.gvk.kind for one in (BUNDLES, BUNDLE_DEPLOYMENTS) if discovery.find(one.gvk) is None]
                text = (
                    f"the cluster has no kind {' and no kind '.join(missing)}; install config/crds" if missing else ""
                )
            except ApiError as error:
                text = str(error)
            if not text:
                return
            if not told:
                LOG.warning("waiting: %s", text)
                told = True
            with suppress(TimeoutError):
                async with asyncio.timeout(DEFINITIONS):
                    await stop.wait()


async def _as_none(stop: asyncio.Event) -> None:
    await stop.wait()
    LOG.info("stopping")


async def _measure_lag() -> None:
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + LAG_PROBE
        await asyncio.sleep(LAG_PROBE)
        LOOP_LAG.observe(max(0.0, loop.time() - due))

"""Certificates and trust of the operator's own webhooks, put together: what is watched, kept and reported.

Every replica watches the Secrets of the certificates by name, metadata only, so no key is held by a watch, and the
ValidatingWebhookConfiguration. Whoever deletes or replaces one of them (`helm upgrade --force`, a restored backup)
starts a pass of the keeper, which repairs it on the leader and reads it again on followers.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import orjson

from rukpak_py.api.names import EVENT_COMPONENT, OPERATOR_DEPLOYMENT, WEBHOOK_CONFIGURATION, SecretName
from rukpak_py.controllers.system_objects import SystemObjects
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.events import EventRecorder, EventSubject
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.resources import SECRETS, Resource
from rukpak_py.operator.adapters import WEBHOOK_CONFIGURATIONS, SystemSecrets, WebhookConfigurations
from rukpak_py.operator.settings import Settings
from rukpak_py.server.certificates import CertificateKeeper
from rukpak_py.server.webhook_configuration import ConfigurationState, ConfigurationStatus, OurWebhooks, serving_hosts
from rukpak_py.server.webhook_monitor import MonitorReport, WebhookMonitor

LOG = logging.getLogger(__name__)
OK_SECONDS = 10.0  # between two looks at what a watch would show; no request is sent
WRONG_SECONDS = 1.0
DEPLOYMENTS = Resource(gvk=GroupVersionKind("apps", "v1", "Deployment"), plural="deployments", namespaced=True)


class WebhookCertificates:
    def __init__(self, settings: Settings, *, reader: Client, writer: Client) -> None:
        """`writer` is fenced: its writes fail unless this replica leads."""
        namespace = settings.system_namespace
        self._webhooks = OurWebhooks.of(namespace, settings.webhook_url)
        self._keeper = CertificateKeeper(
            secrets=SystemSecrets(SystemObjects(writer, namespace)),
            configurations=WebhookConfigurations(writer),
            webhooks=self._webhooks,
            hosts=serving_hosts(namespace, settings.webhook_url, settings.external_url),
        )
        self._monitor = WebhookMonitor()
        self._reporter = _Reporter(writer, settings)
        self._changed = asyncio.Event()
        self._configuration = Informer(
            reader,
            WEBHOOK_CONFIGURATIONS,
            field_selector=f"metadata.name={WEBHOOK_CONFIGURATION}",
            full=True,
            on_change=lambda *_: self.wake(),
        )
        self.pair = lambda: self._keeper.pair
        self.informers = (self._configuration, *(self._watch_of(reader, namespace, name) for name in SecretName))

    async def run(self, is_leader: Callable[[], bool]) -> None:
        """Keep certificates and report, until cancelled."""
        self._reporter.start()
        try:
            async with asyncio.TaskGroup() as parts:
                parts.create_task(self._keeper.run(is_leader, self.untrusted), name="certificate keeper")
                parts.create_task(self._monitor_configuration(is_leader), name="webhook monitor")
        finally:
            await self._reporter.close()

    def wake(self) -> None:
        """Look again now: leadership changed."""
        self._keeper.wake()
        self._changed.set()

    def unloaded(self) -> str | None:
        """Why there is no certificate to serve; for the readiness probe."""
        return self._keeper.problem()

    def untrusted(self) -> str | None:
        """Why the API server would not reach us; None when it would, or was told not to call us."""
        if not self._configuration.synced.is_set():
            return "the webhook configuration has not been read yet"
        status = self._status()
        match status.state:
            case ConfigurationState.UNTRUSTED:
                return f"{status.detail} yet"
            case ConfigurationState.MISSING if self._webhooks.is_configuration_ours_to_make:
                return f"{status.detail} yet"
            case _:
                return None

    def _status(self) -> ConfigurationStatus:
        live = next(iter(self._configuration), None)
        configuration: dict[str, Any] | None = orjson.loads(live.json or b"{}") if live is not None else None
        return self._webhooks.status(configuration, self._keeper.certificate)

    def _watch_of(self, client: Client, namespace: str, name: SecretName) -> Informer:
        return Informer(
            client,
            SECRETS,
            namespace=namespace,
            field_selector=f"metadata.name={name}",
            on_change=lambda *_: self._keeper.wake(),
        )

    async def _monitor_configuration(self, is_leader: Callable[[], bool]) -> None:
        await self._configuration.wait_synced()
        loop = asyncio.get_running_loop()
        while True:
            self._changed.clear()
            status = self._status()
            report = self._monitor.observe(status, now=loop.time(), leading=is_leader())
            if report is not None:
                await self._reporter.emit(report)
            with suppress(TimeoutError):
                async with asyncio.timeout(OK_SECONDS if status.state is ConfigurationState.OK else WRONG_SECONDS):
                    await self._changed.wait()


class _Reporter:
    """Reports as log lines and Events. These are about the operator's Deployment, where its users look."""

    def __init__(self, writer: Client, settings: Settings) -> None:
        self._client = writer
        self._namespace = settings.system_namespace
        self._is_in_cluster = bool(settings.pod_address)
        self._recorder = EventRecorder(writer, component=EVENT_COMPONENT, instance=settings.pod_name)

    def start(self) -> None:
        self._recorder.start()

    async def close(self) -> None:
        await self._recorder.close(1.0)

    async def emit(self, report: MonitorReport) -> None:
        if report.is_logged:
            LOG.log(logging.WARNING if report.is_warning else logging.INFO, "%s: %s", report.reason, report.message)
        if report.is_event:
            kind = "Warning" if report.is_warning else "Normal"
            self._recorder.record(await self._subject(), type=kind, reason=report.reason, message=report.message)

    async def _subject(self) -> EventSubject:
        """`kubectl describe` finds Events by uid; outside a cluster there is no Deployment."""
        uid = ""
        if self._is_in_cluster:
            with suppress(ApiError):
                uid = (await self._client.get_metadata(DEPLOYMENTS, self._namespace, OPERATOR_DEPLOYMENT)).uid
        return EventSubject(gvk=DEPLOYMENTS.gvk, namespace=self._namespace, name=OPERATOR_DEPLOYMENT, uid=uid)

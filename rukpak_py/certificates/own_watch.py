"""The operator's own webhooks in the cluster: what is watched, kept and reported.

Every replica watches the Secrets of the certificates by name, metadata only, so no key is held by a watch, and the
ValidatingWebhookConfiguration. A deletion or replacement of one of them (`helm upgrade --force`, a restored backup)
starts a pass of the keeper, which repairs it on the leader and reads it again on followers.

Bundles are not guarded while the API server does not call our webhooks, and nothing else would show it. Such a state is
reported when it has lasted (an upgrade replaces the configuration in a moment), and again from time to time. Every
replica logs what it sees; the leader makes the Event too, also of what lasts since before it led. The metric follows
at once.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson

from rukpak_py.api.names import EVENT_COMPONENT, OPERATOR_DEPLOYMENT, WEBHOOK_CONFIGURATION, SecretName
from rukpak_py.certificates.own_certificate import WEBHOOK_CONFIGURATIONS, CertificateKeeper
from rukpak_py.certificates.own_webhooks import ConfigurationState, ConfigurationStatus, OurWebhooks, own_certificate
from rukpak_py.core.metrics import WEBHOOK_CONFIGURATION_OK
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.events import EventRecorder, EventSubject
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.resources import DEPLOYMENTS, SECRETS

LOG = logging.getLogger(__name__)
OK_SECONDS = 10.0  # between two looks at what a watch would show; no request is sent
WRONG_SECONDS = 1.0
GRACE_SECONDS = 5.0
REPEAT_SECONDS = 1800.0  # Events go after an hour

REASONS = {
    ConfigurationState.OK: "WebhookConfigurationRestored",
    ConfigurationState.UNTRUSTED: "WebhookConfigurationUntrusted",
    ConfigurationState.REPLACED: "WebhookConfigurationReplaced",
    ConfigurationState.MISSING: "WebhookConfigurationMissing",
}
_UNGUARDED = "Bundles and ConfigMaps are not validated. To restore it, run helm upgrade or apply install.yaml again"
CONSEQUENCES = {
    ConfigurationState.OK: "the API server calls the webhooks of this operator again",
    ConfigurationState.UNTRUSTED: "Bundles cannot be created. The operator sets caBundle; see its log",
    ConfigurationState.REPLACED: _UNGUARDED,
    ConfigurationState.MISSING: _UNGUARDED,
}


@dataclass(frozen=True, kw_only=True)
class MonitorReport:
    """Report for the log and, when `is_event`, for users."""

    is_warning: bool
    reason: str
    message: str
    is_logged: bool
    is_event: bool


class WebhookMonitor:
    def __init__(self, *, grace: float = GRACE_SECONDS, repeat: float = REPEAT_SECONDS) -> None:
        self._grace = grace
        self._repeat = repeat
        self._status = ConfigurationStatus(ConfigurationState.OK)
        self._since = 0.0
        self._logged = self._emitted = ConfigurationStatus(ConfigurationState.OK)
        self._emitted_at = 0.0

    def observe(self, status: ConfigurationStatus, *, now: float, leading: bool) -> MonitorReport | None:
        """The report about this status at this moment, if any."""
        is_ok = status.state is ConfigurationState.OK
        WEBHOOK_CONFIGURATION_OK.set(is_ok)
        if status != self._status:
            self._status, self._since = status, now
        if not is_ok and now - self._since < self._grace:
            return None
        is_logged = status != self._logged
        is_event = leading and (status != self._emitted or (not is_ok and now - self._emitted_at >= self._repeat))
        self._logged = status
        if is_event:
            self._emitted, self._emitted_at = status, now
        if not is_logged and not is_event:
            return None
        message = "; ".join(filter(None, (status.detail, CONSEQUENCES[status.state])))
        return MonitorReport(
            is_warning=not is_ok,
            reason=REASONS[status.state],
            message=message,
            is_logged=is_logged,
            is_event=is_event,
        )


class OwnCertificates:
    """The part of a replica that keeps, watches and reports its webhooks."""

    def __init__(
        self,
        namespace: str,
        *,
        webhook_url: str,
        external_url: str,
        cluster_domain: str,
        reader: Client,
        writer: Client,
        reporter: "WebhookReporter",
    ) -> None:
        """`writer` and `reporter` are fenced: their writes fail unless this replica leads."""
        self._webhooks = OurWebhooks(system_namespace=namespace, url=webhook_url)
        self._keeper = CertificateKeeper(
            own_certificate(namespace, webhook_url, external_url, cluster_domain=cluster_domain),
            client=writer,
            webhooks=self._webhooks,
        )
        self._monitor = WebhookMonitor()
        self._reporter = reporter
        self._changed = asyncio.Event()
        self._configuration = Informer(
            reader,
            WEBHOOK_CONFIGURATIONS,
            field_selector=f"metadata.name={WEBHOOK_CONFIGURATION}",
            full=True,
            on_change=lambda *_: self.wake(),
        )
        self.pair = lambda: self._keeper.pair
        secrets = (
            Informer(
                reader,
                SECRETS,
                namespace=namespace,
                field_selector=f"metadata.name={name}",
                on_change=lambda *_: self._keeper.wake(),
            )
            for name in SecretName
        )
        self.informers = (self._configuration, *secrets)

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
        """Reason for the readiness probe why there is no certificate to serve."""
        return self._keeper.problem()

    def untrusted(self) -> str | None:
        """Reason why the API server would not reach us; None when it would, or was told not to call us."""
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
        pair = self._keeper.pair
        return self._webhooks.status(configuration, pair.certificate if pair is not None else None)

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


class WebhookReporter:
    """Reports as log lines and Events. These are about the operator's Deployment, where its users look."""

    def __init__(self, writer: Client, namespace: str, *, pod: str, is_in_cluster: bool) -> None:
        self._client = writer
        self._namespace = namespace
        self._is_in_cluster = is_in_cluster
        self._recorder = EventRecorder(writer, component=EVENT_COMPONENT, instance=pod)

    def start(self) -> None:
        self._recorder.start()

    async def close(self) -> None:
        await self._recorder.close(1.0)

    async def emit(self, report: MonitorReport) -> None:
        if report.is_logged:
            LOG.log(logging.WARNING if report.is_warning else logging.INFO, "%s: %s", report.reason, report.message)
        if report.is_event:
            uid = ""  # `kubectl describe` finds Events by uid; outside a cluster there is no Deployment
            if self._is_in_cluster:
                with suppress(ApiError):
                    uid = (await self._client.get_metadata(DEPLOYMENTS, self._namespace, OPERATOR_DEPLOYMENT)).uid
            subject = EventSubject(gvk=DEPLOYMENTS.gvk, namespace=self._namespace, name=OPERATOR_DEPLOYMENT, uid=uid)
            kind = "Warning" if report.is_warning else "Normal"
            self._recorder.record(subject, type=kind, reason=report.reason, message=report.message)

"""Keeps the operator's authority and serving certificate, without cert-manager.

Three Secrets: the signer (certificate and key, the only truth about the authority), `rukpak-ca` with what clients
should trust, and the serving certificate. Only the leader writes (`certificate_repair`); followers read and wait.

A pass starts when something that it looks at has changed, soon again while the API server does not trust what is
served, and otherwise rarely: certificates grow old. What is loaded is served until there is something better. Who
undoes again and again what a pass has written is answered after a pause, not in a hot loop.
"""

import asyncio
import logging
import ssl
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rukpak_py.api.names import SecretName
from rukpak_py.core import x509
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.x509 import KeyPair
from rukpak_py.server.certificate_repair import CertificateRepair, ServingPair, served
from rukpak_py.server.certificate_secrets import Secrets, WebhookConfigurations, pair_of, trust_in
from rukpak_py.server.webhook_configuration import OurWebhooks

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class KeeperSettings:
    """Seconds between two passes."""

    interval: float = 6 * 3600.0  # when nothing changes
    waiting: float = 1.0  # while there is nothing to serve yet, or nobody trusts it
    retry: float = 10.0  # after a failure
    propagation: float = 60.0  # from a change of trust until clients rely on it
    spacing: float = 0.2  # at least, whatever changes meanwhile


class CertificateKeeper:
    def __init__(
        self,
        *,
        secrets: Secrets,
        configurations: WebhookConfigurations,
        webhooks: OurWebhooks,
        hosts: Sequence[str],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        elapsed: Callable[[], float] = time.monotonic,
        settings: KeeperSettings | None = None,
    ) -> None:
        """`clock` dates certificates; `elapsed` measures how long the trust has been in place, as seen from here."""
        self._settings = settings or KeeperSettings()
        self._secrets = secrets
        self._repair = CertificateRepair(
            secrets=secrets,
            configurations=configurations,
            webhooks=webhooks,
            hosts=hosts,
            propagation=self._settings.propagation,
            clock=clock,
            elapsed=elapsed,
        )
        self._served: ServingPair | None = None
        self._waits_for = "the certificates have not been read yet"
        self._logged: str | None = None
        self._wake = asyncio.Event()

    @property
    def certificate(self) -> bytes | None:
        """What is served."""
        return self._served.pair.certificate if self._served is not None else None

    @property
    def pair(self) -> KeyPair | None:
        """What is served, with its key."""
        return self._served.pair if self._served is not None else None

    def problem(self) -> str | None:
        """Why there is nothing to serve yet."""
        return None if self._served is not None else self._waits_for

    def wake(self) -> None:
        """Start the next pass now: leadership, a Secret or the webhook configuration changed."""
        self._wake.set()

    async def run(self, is_leader: Callable[[], bool], is_unready: Callable[[], str | None] = lambda: None) -> None:
        """Pass after pass, until cancelled. `is_unready`: why the API server would not trust what is served."""
        while True:
            self._wake.clear()
            started = time.monotonic()
            failure = await self._attempt(leading=is_leader())
            unready = self.problem() or is_unready()
            self._log(failure, unready)
            try:
                await asyncio.wait_for(self._wake.wait(), self._pause(failed=bool(failure), unready=bool(unready)))
            except TimeoutError:
                continue
            spacing = self._settings.retry if self._repair.is_rate_limited() else self._settings.spacing
            await asyncio.sleep(started + spacing - time.monotonic())

    async def keep(self, *, leading: bool) -> None:
        """One pass: repair what only the leader may, then load what is to be served."""
        found = await (self._repair.repair(self._served) if leading else self._read())
        if found is not None:
            self._served = found

    async def _attempt(self, *, leading: bool) -> str:
        """One pass; why it failed."""
        try:
            await self.keep(leading=leading)
        except RukPakError as error:
            self._waits_for = str(error)
            return str(error)
        return ""

    async def _read(self) -> ServingPair | None:
        """A follower's pass: what the leader has made, once clients trust it."""
        serving = pair_of(await self._secrets.read(SecretName.SERVING))
        trust = trust_in(await self._secrets.read(SecretName.CA))
        if serving is None or not x509.is_pair(serving):
            self._waits_for = f"waiting for the leader to write Secret {SecretName.SERVING}"
            return None
        if not x509.issuers(serving.certificate, trust):
            self._waits_for = (
                f"waiting for the leader to renew Secret {SecretName.SERVING}: "
                f"no certificate in Secret {SecretName.CA} has signed it"
            )
            return None
        return served(serving, trust)

    def _pause(self, *, failed: bool, unready: bool) -> float:
        settings = self._settings
        if failed and self._served is not None:
            return settings.retry
        if unready:
            return settings.waiting
        return settings.propagation if self._repair.awaits_propagation else settings.interval

    def _log(self, failure: str, unready: str | None) -> None:
        """Once per state, not at each pass."""
        text = failure or unready
        if text == self._logged:
            return
        if failure:
            _LOG.warning("certificates: %s", failure)
        elif unready:
            _LOG.info("certificates: not ready: %s", unready)
        elif self._logged:
            _LOG.info("certificates: ready")
        self._logged = text


def server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def load_pair(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Serve this pair in new connections; the ssl module reads keys from files only."""
    with tempfile.NamedTemporaryFile(prefix="rukpak-serving-") as file:  # mode 0600
        file.write(pair.certificate + pair.key)
        file.flush()
        context.load_cert_chain(file.name)

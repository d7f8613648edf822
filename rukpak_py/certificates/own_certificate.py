"""Keeps the operator's authority and serving certificate, without cert-manager.

Three Secrets: the signer (certificate and key, the only truth about the authority), `rukpak-ca` with what clients
should trust, and the serving certificate. Only the leader writes; followers read and wait.

A pass starts when something that it looks at has changed, soon again while the API server does not trust what is
served, and otherwise rarely: certificates grow old. What is loaded is served until there is something better. A client
that undoes again and again what a pass has written is answered after a pause, not in a hot loop.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from rukpak_py.api.names import CA_KEY, FIELD_MANAGER, WEBHOOK_CONFIGURATION, SecretName
from rukpak_py.certificates.own_webhooks import ConfigurationState, OurWebhooks
from rukpak_py.certificates.secret import certificate_in, pair_data, pair_in
from rukpak_py.certificates.steps import CertificateSettings, CertificateStep, Injection, Seen, take_steps, trust_of
from rukpak_py.certificates.wanted import WantedCertificate
from rukpak_py.core import x509
from rukpak_py.core.ca_bundles import ca_bundle_patch
from rukpak_py.core.errors import RukPakError, UnavailableError
from rukpak_py.core.metrics import CERTIFICATE_EXPIRY
from rukpak_py.core.objects import GroupVersionKind, canonical_json
from rukpak_py.core.repair_backoff import RepairBackoff
from rukpak_py.core.x509 import KeyPair
from rukpak_py.kube.client import JSON_PATCH, Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import Resource
from rukpak_py.kube.secrets import OwnSecrets, StoredObject

_LOG = logging.getLogger(__name__)
WEBHOOK_CONFIGURATIONS = Resource(
    gvk=GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"),
    plural="validatingwebhookconfigurations",
    namespaced=False,
)
WRITES_BEFORE_REST = 20
CONTEST_SECONDS = 60.0  # in which they count: the webhook fails closed, so a slow opponent is answered at once


@dataclass(frozen=True, kw_only=True)
class KeeperSettings:
    """Seconds between two passes."""

    interval: float = 6 * 3600.0  # when nothing changes
    waiting: float = 1.0  # while there is nothing to serve yet, or no API server trusts it
    retry: float = 10.0  # after a failure, and between two repairs of what another client keeps undoing
    propagation: float = 60.0  # from a change of trust until clients rely on it
    spacing: float = 0.2  # at least, whatever changes meanwhile


@dataclass(frozen=True, kw_only=True)
class ServingPair:
    """A serving pair and the authorities that signed it."""

    pair: KeyPair
    trust: bytes


class _OwnSite:
    """The leader's `Site`: the three Secrets, and the webhook configuration."""

    def __init__(
        self,
        want: WantedCertificate,
        client: Client,
        webhooks: OurWebhooks,
        *,
        clock: Callable[[], datetime],
        elapsed: Callable[[], float],
    ) -> None:
        self.in_use: ServingPair | None = None
        self.awaits_propagation = False  # a new authority is trusted and not served yet
        self.written = 0
        self._want = want
        self._secrets = OwnSecrets(client, want.secret.namespace)
        self._client = client
        self._webhooks = webhooks
        self._clock = clock
        self._elapsed = elapsed
        self._trusted = b""
        self._trusted_since = 0.0
        self._has_applied = False  # the configuration, where it is ours to make
        self._found: Mapping[SecretName, StoredObject | None] = {}
        self._configuration: dict[str, Any] | None = None

    async def look(self) -> Seen:
        self._found = {name: await self._secrets.read(name) for name in SecretName}
        try:
            self._configuration = orjson.loads(
                await self._client.get(WEBHOOK_CONFIGURATIONS, "", WEBHOOK_CONFIGURATION)
            )
        except NotFoundError:
            self._configuration = None
        trust, in_use = trust_in(self._found[SecretName.CA]), self.in_use
        injected = b"" if self._must_apply() or self._patch(trust) else trust
        if injected != self._trusted:
            self._trusted, self._trusted_since = injected, self._elapsed()
        # Seen from this process: a new leader does not know since when the trust is in place.
        since = self._clock() - timedelta(seconds=self._elapsed() - self._trusted_since)
        return Seen(
            signer=certificate_in(pair_of(self._found[SecretName.SIGNER])),
            certificate=certificate_in(pair_of(self._found[SecretName.SERVING])),
            trust=trust,
            trusted_since=since if injected else None,
            callers=(Injection(bundle=injected),),
            in_use=in_use.pair.certificate if in_use is not None else b"",
            in_use_trust=in_use.trust if in_use is not None else b"",
        )

    async def take(self, step: CertificateStep, seen: Seen) -> bool:
        self.awaits_propagation = step is CertificateStep.WAIT
        if step in {CertificateStep.NOTHING, CertificateStep.WAIT}:
            return False
        self.written += 1
        now, signer = self._clock(), pair_of(self._found[SecretName.SIGNER])
        match step:
            case CertificateStep.ISSUE_AUTHORITY:
                await self._write(SecretName.SIGNER, pair_data(x509.issue_ca(now)))
            case CertificateStep.PUBLISH_TRUST:
                await self._write(SecretName.CA, {CA_KEY: trust_of(self._want, seen, now)})
            case CertificateStep.INJECT if self._must_apply():
                await apply_configuration(self._client, self._webhooks.configuration(seen.trust))
                self._has_applied = True
            case CertificateStep.INJECT:
                body = canonical_json(self._patch(seen.trust))
                await self._client.patch(
                    WEBHOOK_CONFIGURATIONS, "", WEBHOOK_CONFIGURATION, body, content_type=JSON_PATCH
                )
            case CertificateStep.RESTORE if self.in_use is not None:
                await self._write(SecretName.SERVING, pair_data(self.in_use.pair))
            case CertificateStep.ISSUE | CertificateStep.RESTORE:
                await self._write(SecretName.SERVING, pair_data(x509.issue_serving(signer, self._want.hosts, now)))
            case _:
                raise AssertionError(f"{step} is no step of a certificate whose signer is kept")
        return True

    def served(self) -> ServingPair | None:
        """The stored pair, as it was seen last."""
        return served(self._found[SecretName.SERVING], trust_in(self._found[SecretName.CA]))

    def _must_apply(self) -> bool:
        """Whether to apply: at the start of a leadership, as a new release may want other rules, and after a loss."""
        if not self._webhooks.is_configuration_ours_to_make:
            return False
        state = self._webhooks.status(self._configuration, None).state
        return not self._has_applied or state in {ConfigurationState.MISSING, ConfigurationState.REPLACED}

    def _patch(self, trust: bytes) -> list[dict[str, Any]]:
        """Empty when the configuration has this trust, or is missing and not ours to make."""
        return ca_bundle_patch(self._configuration or {}, trust, is_ours=self._webhooks.calls_us)

    async def _write(self, name: SecretName, data: Mapping[str, bytes]) -> None:
        found = self._found[name]
        if found is None:
            await self._secrets.create(name, data)
        else:
            await self._secrets.replace(name, {**found.secret_data(), **data}, found.metadata.resource_version)


async def apply_configuration(client: Client, manifest: dict[str, Any]) -> None:
    name, body = manifest["metadata"]["name"], canonical_json(manifest)
    await client.apply(WEBHOOK_CONFIGURATIONS, "", name, body, field_manager=FIELD_MANAGER, force=True)


class CertificateKeeper:
    def __init__(
        self,
        want: WantedCertificate,
        *,
        client: Client,
        webhooks: OurWebhooks,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        elapsed: Callable[[], float] = time.monotonic,
        settings: KeeperSettings | None = None,
    ) -> None:
        """`clock` dates certificates; `elapsed` measures how long the trust has been in place, as seen from here."""
        self._settings = settings or KeeperSettings()
        self._want = want
        self._secrets = OwnSecrets(client, want.secret.namespace)
        self._clock = clock
        self._site = _OwnSite(want, client, webhooks, clock=clock, elapsed=elapsed)
        self._backoff = RepairBackoff(repairs=WRITES_BEFORE_REST, rest=self._settings.retry, within=CONTEST_SECONDS)
        self._waits_for = "the certificates have not been read yet"
        self._logged: str | None = None
        self._wake = asyncio.Event()

    @property
    def pair(self) -> KeyPair | None:
        """The pair that is served."""
        return self._site.in_use.pair if self._site.in_use is not None else None

    def problem(self) -> str | None:
        """Reason why there is nothing to serve yet."""
        return None if self._site.in_use is not None else self._waits_for

    def wake(self) -> None:
        """Start the next pass now: leadership, a Secret or the webhook configuration changed."""
        self._wake.set()

    async def run(self, is_leader: Callable[[], bool], is_unready: Callable[[], str | None] = lambda: None) -> None:
        """Pass after pass, until cancelled. `is_unready`: why the API server would not trust what is served."""
        settings = self._settings
        while True:
            self._wake.clear()
            started, failure = time.monotonic(), ""
            try:
                await self.keep(leading=is_leader())
            except RukPakError as error:
                self._waits_for = failure = str(error)
            unready = self.problem() or is_unready()
            self._log(failure, unready)
            if failure and self._site.in_use is not None:
                pause = settings.retry
            elif unready:
                pause = settings.waiting
            else:
                pause = settings.propagation if self._site.awaits_propagation else settings.interval
            try:
                await asyncio.wait_for(self._wake.wait(), pause)
            except TimeoutError:
                continue
            rest = self._backoff.rests_until(self._want.secret, time.monotonic()) or 0.0
            await asyncio.sleep(max(started + settings.spacing, rest) - time.monotonic())

    async def keep(self, *, leading: bool) -> None:
        """One pass: repair what only the leader may, then load what is to be served."""
        found = await (self._repair() if leading else self._read())
        if found is not None:
            self._site.in_use = found
            export_expiry(found)

    async def _repair(self) -> ServingPair | None:
        site, before = self._site, self._site.written
        settings = CertificateSettings(propagation=timedelta(seconds=self._settings.propagation))
        try:
            is_done = await take_steps(site, self._want, self._clock, settings)
        finally:
            self._backoff.repaired([self._want.secret] * (site.written - before), time.monotonic())
        if not is_done:
            raise UnavailableError(
                "another client keeps changing the certificates' Secrets or the webhook configuration"
            )
        return site.served()

    async def _read(self) -> ServingPair | None:
        """A follower's pass: what the leader has made, once clients trust it."""
        serving = await self._secrets.read(SecretName.SERVING)
        trust = trust_in(await self._secrets.read(SecretName.CA))
        certificate = certificate_in(pair_of(serving))
        if not certificate:
            self._waits_for = f"waiting for the leader to write Secret {SecretName.SERVING}"
            return None
        if not x509.issuers(certificate, trust):
            self._waits_for = (
                f"waiting for the leader to renew Secret {SecretName.SERVING}: "
                f"no certificate in Secret {SecretName.CA} has signed it"
            )
            return None
        return served(serving, trust)

    def _log(self, failure: str, unready: str | None) -> None:
        """Log once per state, not at each pass."""
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


def served(secret: StoredObject | None, trust: bytes) -> ServingPair | None:
    if secret is None:
        return None
    pair = pair_of(secret)
    return ServingPair(pair=pair, trust=x509.issuers(pair.certificate, trust))


def export_expiry(served: ServingPair) -> None:
    authorities = x509.split(served.trust)
    for name, certificates in ((SecretName.SERVING, [served.pair.certificate]), (SecretName.CA, authorities)):
        ends = [end.timestamp() for one in certificates if (end := x509.expiry(one)) is not None]
        if ends:
            CERTIFICATE_EXPIRY.labels(name).set(max(ends))
        else:  # no authority that is trusted has signed it: nothing expires
            CERTIFICATE_EXPIRY.remove(name)


def pair_of(secret: StoredObject | None) -> KeyPair:
    return pair_in(secret.secret_data() if secret is not None else {})


def trust_in(secret: StoredObject | None) -> bytes:
    return secret.secret_data().get(CA_KEY, b"") if secret is not None else b""

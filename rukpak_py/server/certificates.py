"""Keeps the operator's authority and serving certificate, without cert-manager.

Three Secrets: the signer (certificate and key, the only truth about the authority), `rukpak-ca` with what clients
should trust, and the serving certificate. Only the leader writes; followers read and wait. Each pass looks at what is
there and repairs the next thing, so a crash between two writes is healed by the next pass.

Rotation without a gap: the new authority is trusted beside the old one first, in `rukpak-ca` and in the webhooks'
`caBundle`; what it signs is served when that has been so for a minute, because API servers and other clients learn of
it each in their own time; the old one goes when it expires.
"""

import asyncio
import logging
import ssl
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from rukpak_py.api.names import WEBHOOK_CONFIGURATION, SecretName
from rukpak_py.core.errors import RukPakError
from rukpak_py.server import x509
from rukpak_py.server.webhook_configuration import ca_bundle_patch, trusts
from rukpak_py.server.x509 import KeyPair

_LOG = logging.getLogger(__name__)

CA_KEY = "ca.crt"
_CERTIFICATE_KEY = "tls.crt"
_PRIVATE_KEY = "tls.key"


@dataclass(frozen=True, kw_only=True)
class Secret:
    data: Mapping[str, bytes]
    version: str  # its resourceVersion


class Secrets(Protocol):
    """Secrets of the system namespace."""

    async def read(self, name: str) -> Secret | None: ...

    async def create(self, name: str, data: Mapping[str, bytes]) -> bool:
        """False when it exists already."""
        ...

    async def replace(self, name: str, data: Mapping[str, bytes], version: str) -> bool:
        """False when it is no longer at this version."""
        ...


class WebhookConfigurations(Protocol):
    """ValidatingWebhookConfigurations."""

    async def read(self, name: str) -> dict[str, Any] | None: ...

    async def patch(self, name: str, patch: list[dict[str, Any]]) -> None:
        """Apply a JSON patch."""
        ...


@dataclass(frozen=True, kw_only=True)
class KeeperSettings:
    """Seconds between two passes."""

    interval: float = 600.0
    waiting: float = 1.0  # while there is nothing to serve yet
    retry: float = 10.0  # after a failure
    settling: float = 60.0  # from a change of trust until clients rely on it


class CertificateKeeper:
    def __init__(
        self,
        *,
        secrets: Secrets,
        configurations: WebhookConfigurations,
        hosts: Sequence[str],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        elapsed: Callable[[], float] = time.monotonic,
        settings: KeeperSettings | None = None,
    ) -> None:
        """`clock` dates certificates; `elapsed` measures how long the trust has been in place, as seen from here."""
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.loaded = asyncio.Event()
        self._secrets = secrets
        self._configurations = configurations
        self._hosts = tuple(hosts)
        self._clock = clock
        self._elapsed = elapsed
        self._settings = settings or KeeperSettings()
        self._trusted = b""
        self._trusted_since = 0.0
        self._is_settling = False  # a new authority is trusted and not served yet
        self._serving: KeyPair | None = None
        self._wake = asyncio.Event()

    async def run(self, is_leader: Callable[[], bool]) -> None:
        """Pass after pass, until cancelled."""
        while True:
            self._wake.clear()
            pause = self._settings.interval
            try:
                await self.keep(leading=is_leader())
            except RukPakError as error:
                _LOG.warning("certificates: %s", error)
                pause = self._settings.retry
            if self._is_settling:
                pause = min(pause, self._settings.settling)
            if not self.loaded.is_set():
                pause = min(pause, self._settings.waiting)
            try:
                await asyncio.wait_for(self._wake.wait(), pause)
            except TimeoutError:
                continue

    def wake(self) -> None:
        """Start the next pass now: leadership or the webhook configuration changed."""
        self._wake.set()

    def is_trusted_by(self, configuration: dict[str, Any]) -> bool:
        """Whether what is served now is signed by an authority that each of these webhooks names."""
        return self._serving is not None and trusts(configuration, self._serving.certificate)

    async def keep(self, *, leading: bool) -> None:
        """One pass: repair what only the leader may, then load what is to be served."""
        serving: KeyPair | None
        if leading:
            signer = await self._keep_signer()
            trusted = await self._keep_trust(signer)
            await self._keep_configuration(trusted)
            serving = await self._keep_serving(signer, trusted)
        else:
            serving = _pair(await self._secrets.read(SecretName.SERVING))
        if serving is not None and serving != self._serving and x509.is_pair(serving):
            _load(self.context, serving)
            self._serving = serving
            self.loaded.set()

    async def _keep_signer(self) -> KeyPair:
        found = await self._secrets.read(SecretName.SIGNER)
        signer = _pair(found)
        now = self._clock()
        if signer and x509.is_pair(signer) and not x509.needs_rotation(signer.certificate, now):
            return signer
        fresh = x509.issue_ca(now)
        if await self._write(SecretName.SIGNER, _data(fresh), found):
            return fresh
        return _pair_or_raise(await self._secrets.read(SecretName.SIGNER), SecretName.SIGNER)

    async def _keep_trust(self, signer: KeyPair) -> bytes:
        found = await self._secrets.read(SecretName.CA)
        former = found.data.get(CA_KEY, b"") if found else b""
        trusted = x509.trust_bundle(signer.certificate, former, self._clock())
        if trusted == former:
            return trusted
        self._trusted = b""
        if not await self._write(SecretName.CA, {CA_KEY: trusted}, found):
            _LOG.info("certificates: another replica wrote Secret %s first; the next pass looks again", SecretName.CA)
            self.wake()
        return trusted

    async def _keep_configuration(self, trusted: bytes) -> None:
        configuration = await self._configurations.read(WEBHOOK_CONFIGURATION)
        patch = ca_bundle_patch(configuration, trusted) if configuration else []
        if patch:
            await self._configurations.patch(WEBHOOK_CONFIGURATION, patch)
        if patch or trusted != self._trusted:
            self._trusted, self._trusted_since = trusted, self._elapsed()

    async def _keep_serving(self, signer: KeyPair, trusted: bytes) -> KeyPair:
        found = await self._secrets.read(SecretName.SERVING)
        serving = _pair(found)
        self._is_settling = False
        if serving and self._is_usable(serving, trusted):
            if x509.is_signed_by(serving.certificate, signer.certificate):
                if not x509.needs_rotation(serving.certificate, self._clock()):
                    return serving
            elif self._elapsed() - self._trusted_since < self._settings.settling:
                self._is_settling = True
                return serving
        fresh = x509.issue_serving(signer, self._hosts, self._clock())
        if await self._write(SecretName.SERVING, _data(fresh), found):
            return fresh
        return _pair_or_raise(await self._secrets.read(SecretName.SERVING), SecretName.SERVING)

    def _is_usable(self, serving: KeyPair, trusted: bytes) -> bool:
        return (
            x509.is_pair(serving)
            and x509.covers(serving.certificate, self._hosts)
            and not x509.has_expired(serving.certificate, self._clock())
            and any(x509.is_signed_by(serving.certificate, authority) for authority in x509.split(trusted))
        )

    async def _write(self, name: SecretName, data: Mapping[str, bytes], found: Secret | None) -> bool:
        """Whether we were the ones who wrote; if not, somebody else was faster."""
        if found is None:
            return await self._secrets.create(name, data)
        return await self._secrets.replace(name, {**found.data, **data}, found.version)


def _pair(secret: Secret | None) -> KeyPair | None:
    if secret is None:
        return None
    return KeyPair(certificate=secret.data.get(_CERTIFICATE_KEY, b""), key=secret.data.get(_PRIVATE_KEY, b""))


def _pair_or_raise(secret: Secret | None, name: SecretName) -> KeyPair:
    pair = _pair(secret)
    if pair is None or not x509.is_pair(pair):
        raise RukPakError(f"Secret {name} holds no certificate with its key; delete it and a new one is made")
    return pair


def _data(pair: KeyPair) -> dict[str, bytes]:
    return {_CERTIFICATE_KEY: pair.certificate, _PRIVATE_KEY: pair.key}


def _load(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Serve this pair in new connections; the ssl module reads keys from files only."""
    with tempfile.NamedTemporaryFile(prefix="rukpak-serving-") as file:  # mode 0600
        file.write(pair.certificate + pair.key)
        file.flush()
        context.load_cert_chain(file.name)

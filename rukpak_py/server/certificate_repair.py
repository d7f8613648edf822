"""The leader's part of keeping certificates: look, take the next step, look again, until nothing is left to do.

Each step is one write. Whether it was ours or somebody was faster shows at the next look.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rukpak_py.api.names import WEBHOOK_CONFIGURATION, SecretName
from rukpak_py.core import x509
from rukpak_py.core.ca_bundles import ca_bundle_patch
from rukpak_py.core.certificates import Observed, RotationStep, next_step, trust_of
from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.x509 import KeyPair
from rukpak_py.server.certificate_secrets import (
    Secret,
    Secrets,
    WebhookConfigurations,
    pair_data,
    pair_of,
    trust_data,
    trust_in,
)
from rukpak_py.server.webhook_configuration import ConfigurationState, OurWebhooks

STEPS = 20  # in one pass; more means that somebody undoes them
WRITES_A_MINUTE = 20


@dataclass(frozen=True, kw_only=True)
class ServingPair:
    """A serving pair and the authorities that signed it."""

    pair: KeyPair
    trust: bytes


@dataclass(frozen=True, kw_only=True)
class _Snapshot:
    secrets: Mapping[SecretName, Secret | None]
    configuration: dict[str, Any] | None
    seen: Observed


class CertificateRepair:
    def __init__(
        self,
        *,
        secrets: Secrets,
        configurations: WebhookConfigurations,
        webhooks: OurWebhooks,
        hosts: Sequence[str],
        propagation: float,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        """`propagation`: seconds from a change of trust until clients rely on it, measured by `elapsed`."""
        self.awaits_propagation = False  # a new authority is trusted and not served yet
        self._secrets = secrets
        self._configurations = configurations
        self._webhooks = webhooks
        self._hosts = tuple(hosts)
        self._propagation = propagation
        self._clock = clock
        self._elapsed = elapsed
        self._trusted = b""
        self._trusted_since = 0.0
        self._has_applied = False  # the configuration, where it is ours to make
        self._written: deque[float] = deque(maxlen=WRITES_A_MINUTE)

    async def repair(self, in_use: ServingPair | None) -> ServingPair | None:
        """What is to be served from now on."""
        for _ in range(STEPS):
            snapshot = await self._look(in_use)
            seen = snapshot.seen
            step = next_step(seen, self._hosts, self._clock())
            self.awaits_propagation = step is RotationStep.WAIT_FOR_PROPAGATION
            if step in {RotationStep.NOTHING, RotationStep.WAIT_FOR_PROPAGATION}:
                return served(seen.serving, seen.trust)
            self._written.append(time.monotonic())
            await self._take(step, snapshot)
        raise UnavailableError("somebody keeps changing the certificates' Secrets or the webhook configuration")

    def is_rate_limited(self) -> bool:
        """Somebody undoes again and again what was written."""
        return len(self._written) == WRITES_A_MINUTE and time.monotonic() - self._written[0] < 60.0

    async def _look(self, in_use: ServingPair | None) -> _Snapshot:
        secrets = {name: await self._secrets.read(name) for name in SecretName}
        configuration = await self._configurations.read(WEBHOOK_CONFIGURATION)
        trust = trust_in(secrets[SecretName.CA])
        is_injected = self._is_injected(configuration, trust)
        seen = Observed(
            signer=pair_of(secrets[SecretName.SIGNER]),
            trust=trust,
            is_injected=is_injected,
            is_propagated=self._is_propagated(trust if is_injected else b""),
            serving=pair_of(secrets[SecretName.SERVING]),
            in_use=in_use.pair if in_use is not None else None,
            in_use_trust=in_use.trust if in_use is not None else b"",
        )
        return _Snapshot(secrets=secrets, configuration=configuration, seen=seen)

    def _is_injected(self, configuration: dict[str, Any] | None, trust: bytes) -> bool:
        if self._must_apply(configuration):
            return False
        return configuration is None or not ca_bundle_patch(configuration, trust, is_ours=self._webhooks.is_ours)

    def _must_apply(self, configuration: dict[str, Any] | None) -> bool:
        """At the start of a leadership, because a new release may want other rules; and when it was lost."""
        if not self._webhooks.is_configuration_ours_to_make:
            return False
        state = self._webhooks.status(configuration, None).state
        return not self._has_applied or state in {ConfigurationState.MISSING, ConfigurationState.REPLACED}

    def _is_propagated(self, trusted: bytes) -> bool:
        if trusted != self._trusted:
            self._trusted, self._trusted_since = trusted, self._elapsed()
        return bool(trusted) and self._elapsed() - self._trusted_since >= self._propagation

    async def _take(self, step: RotationStep, snapshot: _Snapshot) -> None:
        seen, now = snapshot.seen, self._clock()
        signer = seen.signer
        if step is RotationStep.ISSUE_AUTHORITY or signer is None:
            await self._write(SecretName.SIGNER, pair_data(x509.issue_ca(now)), snapshot)
        elif step is RotationStep.PUBLISH_TRUST:
            await self._write(SecretName.CA, trust_data(trust_of(signer, seen, now)), snapshot)
        elif step is RotationStep.INJECT_TRUST:
            await self._inject(seen.trust, snapshot.configuration)
        elif step is RotationStep.RESTORE_SERVING and seen.in_use is not None:
            await self._write(SecretName.SERVING, pair_data(seen.in_use), snapshot)
        else:
            await self._write(SecretName.SERVING, pair_data(x509.issue_serving(signer, self._hosts, now)), snapshot)

    async def _inject(self, trust: bytes, configuration: dict[str, Any] | None) -> None:
        if self._must_apply(configuration):
            await self._configurations.apply(self._webhooks.configuration(trust))
            self._has_applied = True
        elif configuration is not None:
            patch = ca_bundle_patch(configuration, trust, is_ours=self._webhooks.is_ours)
            await self._configurations.patch(WEBHOOK_CONFIGURATION, patch)

    async def _write(self, name: SecretName, data: Mapping[str, bytes], snapshot: _Snapshot) -> None:
        found = snapshot.secrets[name]
        if found is None:
            await self._secrets.create(name, data)
        else:
            await self._secrets.replace(name, {**found.data, **data}, found.version)


def served(pair: KeyPair | None, trust: bytes) -> ServingPair | None:
    return ServingPair(pair=pair, trust=x509.issuers(pair.certificate, trust)) if pair is not None else None

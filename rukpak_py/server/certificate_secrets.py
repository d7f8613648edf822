"""Secrets with certificates, as ports and values: what the keeper asks of the API server, and what stands in them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from rukpak_py.api.names import CA_KEY
from rukpak_py.core.x509 import KeyPair

_CERTIFICATE_KEY = "tls.crt"
_PRIVATE_KEY = "tls.key"


@dataclass(frozen=True, kw_only=True)
class Secret:
    data: Mapping[str, bytes]
    version: str  # its resourceVersion


class Secrets(Protocol):
    """Secrets of one namespace."""

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

    async def apply(self, manifest: dict[str, Any]) -> None:
        """Create it, or make what the manifest says true."""
        ...


def pair_of(secret: Secret | None) -> KeyPair | None:
    if secret is None:
        return None
    return KeyPair(certificate=secret.data.get(_CERTIFICATE_KEY, b""), key=secret.data.get(_PRIVATE_KEY, b""))


def trust_in(secret: Secret | None) -> bytes:
    return secret.data.get(CA_KEY, b"") if secret is not None else b""


def pair_data(pair: KeyPair) -> dict[str, bytes]:
    return {_CERTIFICATE_KEY: pair.certificate, _PRIVATE_KEY: pair.key}


def trust_data(bundle: bytes) -> dict[str, bytes]:
    return {CA_KEY: bundle}

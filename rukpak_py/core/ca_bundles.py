"""The `caBundle` fields of what calls webhooks: where they are, whether they trust a certificate, and what sets them.

Callers are ValidatingWebhookConfigurations, MutatingWebhookConfigurations and CRDs with a conversion webhook. Other
people's webhooks may stand in the same object, so every function takes which of them are meant.
"""

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rukpak_py.core import x509

Manifest = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """One `clientConfig`: the API server calls a webhook by it."""

    pointer: str  # a JSON pointer to the clientConfig
    name: str = ""  # of the webhook; the conversion webhook of a CRD has none
    config: Manifest

    @property
    def ca_bundle(self) -> bytes:
        """Empty when there is none, or none that can be read."""
        try:
            return base64.b64decode(self.config.get("caBundle") or "")
        except (ValueError, TypeError):
            return b""


def every_caller(_: Caller) -> bool:
    return True


def callers(manifest: Manifest) -> Iterator[Caller]:
    for index, webhook in enumerate(manifest.get("webhooks") or []):
        yield Caller(
            pointer=f"/webhooks/{index}/clientConfig", name=webhook["name"], config=webhook.get("clientConfig") or {}
        )
    conversion = (manifest.get("spec") or {}).get("conversion") or {}
    if config := (conversion.get("webhook") or {}).get("clientConfig"):
        yield Caller(pointer="/spec/conversion/webhook/clientConfig", config=config)


def ca_bundle_patch(
    manifest: Manifest, ca_bundle: bytes, *, is_ours: Callable[[Caller], bool] = every_caller
) -> list[Manifest]:
    """The JSON patch that gives our callers this bundle; empty when all have it.

    Each step first tests the name at its index, so an object that changed meanwhile is not patched wrongly.
    """
    patch = []
    for caller in callers(manifest):
        if not is_ours(caller) or caller.ca_bundle == ca_bundle:
            continue
        if caller.name:
            at_name = caller.pointer.replace("/clientConfig", "/name")
            patch.append({"op": "test", "path": at_name, "value": caller.name})
        value = base64.b64encode(ca_bundle).decode()
        patch.append({"op": "add", "path": f"{caller.pointer}/caBundle", "value": value})
    return patch


def trusts(manifest: Manifest, certificate: bytes, *, is_ours: Callable[[Caller], bool] = every_caller) -> bool:
    """Whether each of our callers names an authority that signed this certificate."""
    return all(x509.issuers(certificate, caller.ca_bundle) for caller in callers(manifest) if is_ours(caller))

"""The `caBundle` fields of what calls webhooks: where they are, whether they trust a certificate, and what sets them.

Callers are ValidatingWebhookConfigurations, MutatingWebhookConfigurations, CRDs with a conversion webhook, and
APIServices. Other people's webhooks may stand in the same object, so every function takes which of them are meant.
What is no mapping, or has no name where it needs one, calls nothing.
"""

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson

from rukpak_py.core import x509

Manifest = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookClient:
    """One `clientConfig`: the API server calls a webhook by it."""

    pointer: str  # a JSON pointer to the clientConfig
    name: str = ""  # of the webhook; a CRD's conversion webhook and an APIService have none
    config: Manifest

    @property
    def ca_bundle(self) -> bytes:
        """Empty when there is none, or none that can be read."""
        try:
            return base64.b64decode(self.config.get("caBundle") or "")
        except (ValueError, TypeError):
            return b""


def every_caller(_: WebhookClient) -> bool:
    return True


def callers(manifest: Manifest) -> Iterator[WebhookClient]:
    webhooks = manifest.get("webhooks")
    for index, webhook in enumerate(webhooks if isinstance(webhooks, list) else []):
        name = _mapping(webhook).get("name")
        if name and isinstance(name, str):
            config = _mapping(webhook.get("clientConfig"))
            yield WebhookClient(pointer=f"/webhooks/{index}/clientConfig", name=name, config=config)
    spec = _mapping(manifest.get("spec"))
    if manifest.get("kind") == "APIService":
        if spec.get("service"):  # else the API server itself serves it
            yield WebhookClient(pointer="/spec", config=spec)
    elif config := _mapping(_mapping(_mapping(spec.get("conversion")).get("webhook")).get("clientConfig")):
        yield WebhookClient(pointer="/spec/conversion/webhook/clientConfig", config=config)


def ca_bundle_patch(
    manifest: Manifest, ca_bundle: bytes, *, is_ours: Callable[[WebhookClient], bool] = every_caller
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


def trusts(manifest: Manifest, certificate: bytes, *, is_ours: Callable[[WebhookClient], bool] = every_caller) -> bool:
    """Whether each of our callers names an authority that signed this certificate."""
    return all(x509.issuers(certificate, caller.ca_bundle) for caller in callers(manifest) if is_ours(caller))


def _mapping(value: object) -> Manifest:
    return value if isinstance(value, dict) else {}


class _Metadata(msgspec.Struct):
    annotations: dict[str, str] | None = None


class _Spec(msgspec.Struct):
    service: Any = None
    conversion: Any = None


class _Outline(msgspec.Struct):
    kind: str = ""
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    webhooks: Any = None
    spec: _Spec | None = None


_DECODER = msgspec.json.Decoder(_Outline)


def caller_outline(body: bytes) -> Manifest:
    """A manifest without the schemas of a CRD, which may be megabytes.

    One that has something else in the place of these fields, or is small, comes whole.
    """
    found: Manifest
    try:
        outline = _DECODER.decode(body)
    except msgspec.ValidationError:
        outline = None
    whole = outline is None or outline.kind == "APIService"
    found = orjson.loads(body) if whole else msgspec.to_builtins(outline)
    return found

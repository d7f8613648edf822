"""The ValidatingWebhookConfiguration as a value, and the patch that keeps its `caBundle` right.

Bundles fail closed: nothing else guards their immutability. The match condition keeps the webhook out of updates that
leave the spec alone, so labels and finalizers move while no operator runs. ConfigMaps fail open: failing closed, a
stopped operator would block the ConfigMaps of its own namespace, those of its own upgrade included.
"""

import base64
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from rukpak_py.api.names import (
    BUNDLE_PLURAL,
    BUNDLE_WEBHOOK,
    BUNDLE_WEBHOOK_PATH,
    CONFIG_MAP_WEBHOOK,
    CONFIG_MAP_WEBHOOK_PATH,
    CONTENT_SERVICE,
    GROUP,
    VERSION,
    WEBHOOK_CONFIGURATION,
    WEBHOOK_SERVICE,
)
from rukpak_py.server import x509

Manifest = dict[str, Any]


class ServiceClient(NamedTuple):
    """The API server reaches the webhooks through our Service."""

    namespace: str

    def config(self, path: str) -> Manifest:
        return {"service": {"namespace": self.namespace, "name": WEBHOOK_SERVICE, "path": path, "port": 443}}


class UrlClient(NamedTuple):
    """The API server reaches the webhooks at a URL: the operator runs outside the cluster."""

    url: str

    def config(self, path: str) -> Manifest:
        return {"url": self.url.rstrip("/") + path}


def webhook_configuration(
    *, system_namespace: str, client: ServiceClient | UrlClient, ca_bundle: bytes = b""
) -> Manifest:
    bundles = _webhook(BUNDLE_WEBHOOK, client.config(BUNDLE_WEBHOOK_PATH), ca_bundle) | {
        "rules": [_rule(GROUP, VERSION, BUNDLE_PLURAL, "CREATE", "UPDATE")],
        "failurePolicy": "Fail",
        "matchConditions": [
            {
                "name": "spec-is-new",
                "expression": "request.operation == 'CREATE' || object.spec != oldObject.spec",
            }
        ],
    }
    config_maps = _webhook(CONFIG_MAP_WEBHOOK, client.config(CONFIG_MAP_WEBHOOK_PATH), ca_bundle) | {
        "rules": [_rule("", "v1", "configmaps", "CREATE", "DELETE")],
        "failurePolicy": "Ignore",
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": system_namespace}},
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": WEBHOOK_CONFIGURATION},
        "webhooks": [bundles, config_maps],
    }


def ca_bundle_patch(configuration: Manifest, ca_bundle: bytes) -> list[Manifest]:
    """The JSON patch that gives every webhook this authority; empty when all have it.

    Each step first tests the name at its index, so a configuration that changed meanwhile is not patched wrongly.
    """
    wanted = base64.b64encode(ca_bundle).decode()
    patch = []
    for index, webhook in enumerate(configuration.get("webhooks") or []):
        if webhook["clientConfig"].get("caBundle") == wanted:
            continue
        at = f"/webhooks/{index}"
        patch.append({"op": "test", "path": f"{at}/name", "value": webhook["name"]})
        patch.append({"op": "add", "path": f"{at}/clientConfig/caBundle", "value": wanted})
    return patch


def trusts(configuration: Manifest, certificate: bytes) -> bool:
    """Whether every webhook names an authority that signed this certificate."""
    bundles = (webhook["clientConfig"].get("caBundle") or "" for webhook in configuration.get("webhooks") or [])
    return all(_has_issuer(base64.b64decode(bundle), certificate) for bundle in bundles)


def serving_hosts(system_namespace: str, webhook_url: str = "") -> tuple[str, ...]:
    """Every name under which the operator's servers are reached."""
    services = (WEBHOOK_SERVICE, CONTENT_SERVICE)
    names = [f"{service}.{system_namespace}.svc{zone}" for service in services for zone in ("", ".cluster.local")]
    host = urlsplit(webhook_url).hostname if webhook_url else None
    return (*names, "localhost", *([host] if host else []))


def _has_issuer(bundle: bytes, certificate: bytes) -> bool:
    try:
        authorities = x509.split(bundle)
    except ValueError:  # empty, or no certificates
        return False
    return any(x509.is_signed_by(certificate, authority) for authority in authorities)


def _webhook(name: str, client_config: Manifest, ca_bundle: bytes) -> Manifest:
    if ca_bundle:
        client_config = client_config | {"caBundle": base64.b64encode(ca_bundle).decode()}
    return {
        "name": name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": client_config,
        "sideEffects": "None",
        "timeoutSeconds": 10,
    }


def _rule(group: str, version: str, resource: str, *operations: str) -> Manifest:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "resources": [resource],
        "operations": list(operations),
        "scope": "*",
    }

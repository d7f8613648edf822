"""The operator's own webhooks: their want, their ValidatingWebhookConfiguration, and what is wrong with the live one.

Bundles fail closed: nothing else guards their immutability. The match condition keeps the webhook out of updates that
leave the spec alone, so labels and finalizers move while no operator runs. ConfigMaps fail open: failing closed, a
stopped operator would block the ConfigMaps of its own namespace, those of its own upgrade included.

CRDs fail open, too: any update of a CRD that we own comes by that webhook, those of a GitOps tool included. Our own
writes do not: a gate has judged them, by the settings of the deployment. They are told by their field manager, because
the user is the account of the deployment where it has one. A client that takes this name passes as it would with the
annotation that switches the check off.

An operator is called by the configuration of a former release while it is upgraded. So the status, and with it the
readiness of the new pods, asks only for the webhooks that no release lacks (`GUARDS`).
"""

import base64
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from rukpak_py.api.names import (
    BUNDLE_DEPLOYMENT_KIND,
    BUNDLE_PLURAL,
    BUNDLE_WEBHOOK,
    BUNDLE_WEBHOOK_PATH,
    CA_FIELD_MANAGER_PREFIX,
    CLUSTER_DOMAIN,
    CONFIG_MAP_WEBHOOK,
    CONFIG_MAP_WEBHOOK_PATH,
    CONTENT_SERVICE,
    CRD_WEBHOOK,
    CRD_WEBHOOK_PATH,
    FIELD_MANAGER_PREFIX,
    GROUP,
    OWNER_KIND_LABEL,
    VERSION,
    WEBHOOK_CONFIGURATION,
    WEBHOOK_SERVICE,
    SecretName,
)
from rukpak_py.certificates.wanted import WantedCertificate, secret_key
from rukpak_py.core.ca_bundles import WebhookClient, callers, trusts
from rukpak_py.core.objects import ObjectKey

Manifest = dict[str, Any]
PATHS = {
    BUNDLE_WEBHOOK: BUNDLE_WEBHOOK_PATH,
    CONFIG_MAP_WEBHOOK: CONFIG_MAP_WEBHOOK_PATH,
    CRD_WEBHOOK: CRD_WEBHOOK_PATH,
}
GUARDS = (BUNDLE_WEBHOOK, CONFIG_MAP_WEBHOOK)


class ConfigurationState(Enum):
    OK = "ok"
    UNTRUSTED = "untrusted"  # it calls us and does not trust what we serve
    REPLACED = "replaced"  # one of `GUARDS` is not in it, or calls another server
    MISSING = "missing"


class ConfigurationStatus(NamedTuple):
    state: ConfigurationState
    detail: str = ""  # what is wrong, as a user reads it


@dataclass(frozen=True, kw_only=True)
class OurWebhooks:
    """The webhooks by which the API server calls this operator: through our Service, or at `url`, outside a cluster."""

    system_namespace: str
    url: str = ""

    @property
    def is_configuration_ours_to_make(self) -> bool:
        """Whether the configuration comes from this operator and not from the chart."""
        return bool(self.url)

    def configuration(self, ca_bundle: bytes = b"") -> Manifest:
        bundles = self._webhook(BUNDLE_WEBHOOK, ca_bundle) | {
            "rules": [_rule(GROUP, VERSION, BUNDLE_PLURAL, "CREATE", "UPDATE")],
            "failurePolicy": "Fail",
            "matchConditions": [
                _match("spec-is-new", "request.operation == 'CREATE' || object.spec != oldObject.spec")
            ],
        }
        config_maps = self._webhook(CONFIG_MAP_WEBHOOK, ca_bundle) | {
            "rules": [_rule("", "v1", "configmaps", "CREATE", "DELETE")],
            "failurePolicy": "Ignore",
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.system_namespace}},
        }
        by_us = " || ".join(
            f"request.options.fieldManager.startsWith('{prefix}')"
            for prefix in (FIELD_MANAGER_PREFIX, CA_FIELD_MANAGER_PREFIX)
        )
        crds = self._webhook(CRD_WEBHOOK, ca_bundle) | {
            "rules": [_rule("apiextensions.k8s.io", "v1", "customresourcedefinitions", "UPDATE")],
            "failurePolicy": "Ignore",
            "objectSelector": {"matchLabels": {OWNER_KIND_LABEL: BUNDLE_DEPLOYMENT_KIND}},
            "matchConditions": [
                _match("spec-is-new", "object.spec != oldObject.spec"),
                _match("not-judged-yet", f"!(has(request.options.fieldManager) && ({by_us}))"),
            ],
        }
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": WEBHOOK_CONFIGURATION},
            "webhooks": [bundles, config_maps, crds],
        }

    def calls_us(self, caller: WebhookClient) -> bool:
        """Whether this webhook calls us: the others in the same object are none of our business."""
        return caller.name in PATHS and _target(caller.config) == _target(self._client_config(PATHS[caller.name]))

    def status(self, configuration: Manifest | None, certificate: bytes | None) -> ConfigurationStatus:
        """`certificate`: what is served at the moment."""
        subject = f'ValidatingWebhookConfiguration "{WEBHOOK_CONFIGURATION}"'
        if configuration is None:
            return ConfigurationStatus(ConfigurationState.MISSING, f"{subject} not found")
        found = {caller.name: caller for caller in callers(configuration)}
        wrong = [
            f'webhook "{name}" ' + (f"calls {_target(found[name].config)}" if name in found else "is missing")
            for name in GUARDS
            if name not in found or not self.calls_us(found[name])
        ]
        if wrong:
            return ConfigurationStatus(ConfigurationState.REPLACED, f"{subject}: {', '.join(wrong)}")
        if certificate is None or not trusts(configuration, certificate, is_ours=lambda one: one.name in GUARDS):
            text = f"{subject} does not trust the certificate of this operator"
            return ConfigurationStatus(ConfigurationState.UNTRUSTED, text)
        return ConfigurationStatus(ConfigurationState.OK)

    def _client_config(self, path: str) -> Manifest:
        if self.url:
            return {"url": self.url.rstrip("/") + path}
        return {"service": {"namespace": self.system_namespace, "name": WEBHOOK_SERVICE, "path": path, "port": 443}}

    def _webhook(self, name: str, ca_bundle: bytes) -> Manifest:
        authority = {"caBundle": base64.b64encode(ca_bundle).decode()} if ca_bundle else {}
        return {
            "name": name,
            "admissionReviewVersions": ["v1"],
            "clientConfig": {**self._client_config(PATHS[name]), **authority},
            "sideEffects": "None",
            "timeoutSeconds": 10,
        }


def _match(name: str, expression: str) -> Manifest:
    return {"name": name, "expression": expression}


def own_certificate(system_namespace: str, *urls: str, cluster_domain: str = CLUSTER_DOMAIN) -> WantedCertificate:
    """One for every name under which the operator's servers are reached."""
    services = (WEBHOOK_SERVICE, CONTENT_SERVICE)
    names = [f"{service}.{system_namespace}.svc{zone}" for service in services for zone in ("", f".{cluster_domain}")]
    hosts = [host for url in urls if url and (host := urlsplit(url).hostname)]
    return WantedCertificate(
        secret=secret_key(system_namespace, SecretName.SERVING),
        hosts=tuple(dict.fromkeys((*names, "localhost", *hosts))),
        service=ObjectKey("", "Service", system_namespace, WEBHOOK_SERVICE),
        keeps_signer=True,
    )


def _target(config: Manifest) -> str:
    """The server that a clientConfig calls, as a user reads it. The port is left out: it is the same Service."""
    if "url" in config:
        return str(config["url"])
    service = config.get("service") or {}
    return f"Service {service.get('namespace')}/{service.get('name')} at {service.get('path') or '/'}"


def _rule(group: str, version: str, resource: str, *operations: str) -> Manifest:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "resources": [resource],
        "operations": list(operations),
        "scope": "*",
    }

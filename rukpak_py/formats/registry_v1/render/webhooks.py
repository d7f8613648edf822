"""Webhook definitions of the CSV: what calls the operator's own server, and the Services in front of it.

Upstream copies the port as it is written, so that an omitted one becomes 0, which no API server takes, and gives
webhook configurations, which are cluster-scoped, a namespace. Both are kept for parity only.
"""

import re
from collections.abc import Iterator, Sequence

from rukpak_py.formats.json_fields import Json
from rukpak_py.formats.registry_v1.bundle import DEFAULT_PORT, DeploymentEntry, Webhook, WebhookType
from rukpak_py.formats.registry_v1.render.certificates import Serving, certificate_objects
from rukpak_py.formats.registry_v1.render.installation import RenderTarget, annotated

_INTEGER = re.compile("[+-]?[0-9]{1,18}")
_VERSION = "admissionregistration.k8s.io/v1"
_COPIED = ("rules", "failurePolicy", "matchPolicy", "objectSelector", "timeoutSeconds")
_REQUIRED = ("sideEffects", "admissionReviewVersions")  # written even when they are not given


def webhook_services(installation: RenderTarget) -> Iterator[Json]:
    webhooks: dict[str, list[Webhook]] = {}
    for webhook in installation.bundle.csv.webhooks:
        webhooks.setdefault(webhook.deployment_name, []).append(webhook)
    for deployment in _serving(installation):
        yield _service(installation, deployment, webhooks[deployment.name])


def certificates(installation: RenderTarget) -> Sequence[Json]:
    names = [deployment.name for deployment in _serving(installation)]
    return certificate_objects(names, installation.namespace, installation.certificates)


def _serving(installation: RenderTarget) -> list[DeploymentEntry]:
    csv = installation.bundle.csv
    named = {webhook.deployment_name for webhook in csv.webhooks}
    return [deployment for deployment in csv.deployments if deployment.name in named]


def _service(installation: RenderTarget, deployment: DeploymentEntry, webhooks: Sequence[Webhook]) -> Json:
    serving = Serving.of(deployment.name, installation.namespace)
    selector = (deployment.spec.get("selector") or {}).get("matchLabels")
    service = {
        **installation.object("v1", "Service", serving.service),
        "spec": {"ports": _ports(webhooks), **({"selector": selector} if selector else {})},
    }
    provider = installation.certificates
    return annotated(service, provider.serve(serving) if provider is not None else {})


def _ports(webhooks: Sequence[Webhook]) -> list[Json]:
    ports = {webhook.ports: None for webhook in webhooks}
    return [
        {"name": str(port), "port": port, "targetPort": target}
        for port, target in sorted(ports, key=lambda pair: (pair[0], _number(pair[1]), str(pair[1])))
    ]


def _number(target: int | str) -> int:
    """A text that is a number counts as one, a named port as 0, as upstream sorts them."""
    if isinstance(target, str):
        return int(target) if _INTEGER.fullmatch(target) else 0
    return target


def validating_configurations(installation: RenderTarget) -> Iterator[Json]:
    for webhook in installation.bundle.csv.webhooks_of(WebhookType.VALIDATING):
        yield _configuration(installation, webhook, "ValidatingWebhookConfiguration", _entry(installation, webhook))


def mutating_configurations(installation: RenderTarget) -> Iterator[Json]:
    for webhook in installation.bundle.csv.webhooks_of(WebhookType.MUTATING):
        entry = _entry(installation, webhook) | _given(webhook, ("reinvocationPolicy",))
        yield _configuration(installation, webhook, "MutatingWebhookConfiguration", entry)


def service_reference(installation: RenderTarget, webhook: Webhook, path: str | None) -> Json:
    port = webhook.container_port
    return {
        "namespace": installation.namespace,
        "name": Serving.of(webhook.deployment_name, installation.namespace).service,
        **({} if path is None else {"path": path}),
        "port": port if port > 0 or installation.bundle.parity else DEFAULT_PORT,
    }


def injection(installation: RenderTarget, webhook: Webhook) -> dict[str, str]:
    """The annotations by which the certificate's maker finds the callers that need its CA."""
    if installation.certificates is None:
        return {}
    serving = Serving.of(webhook.deployment_name, installation.namespace)
    return dict(installation.certificates.inject(serving))


def _configuration(installation: RenderTarget, webhook: Webhook, kind: str, entry: Json) -> Json:
    head = installation.object(_VERSION, kind, entry["name"])
    if not installation.bundle.parity:
        del head["metadata"]["namespace"]
    return annotated({**head, "webhooks": [entry]}, injection(installation, webhook))


def _entry(installation: RenderTarget, webhook: Webhook) -> Json:
    return {
        "name": webhook.generate_name.removesuffix("-"),
        "clientConfig": {"service": service_reference(installation, webhook, webhook.webhook_path)},
        **_namespace_selector(installation),
        **_given(webhook, _COPIED),
        **{field: webhook.typed.get(field) for field in _REQUIRED},
    }


def _given(webhook: Webhook, fields: tuple[str, ...]) -> Json:
    return {field: webhook.typed[field] for field in fields if field in webhook.typed}


def _namespace_selector(installation: RenderTarget) -> Json:
    if "" in installation.targets:
        return {}
    expression = {
        "key": "kubernetes.io/metadata.name",
        "operator": "In",
        "values": list(installation.targets),
    }
    return {"namespaceSelector": {"matchExpressions": [expression]}}

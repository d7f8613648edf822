"""Webhook definitions of the CSV: what calls the operator's own server, in front of which stands a generated Service.

Upstream copies the port as it is written, so that an omitted one becomes 0, which no API server takes, and gives
webhook configurations, which are cluster-scoped, a namespace. Both are kept for parity only.
"""

from collections.abc import Iterator

from rukpak_py.formats.registry_v1.bundle import DEFAULT_PORT, Json, Webhook, WebhookType
from rukpak_py.formats.registry_v1.render.certificates import Serving
from rukpak_py.formats.registry_v1.render.installation import RenderTarget, annotated

_VERSION = "admissionregistration.k8s.io/v1"
_COPIED = ("rules", "failurePolicy", "matchPolicy", "objectSelector", "timeoutSeconds")
_REQUIRED = ("sideEffects", "admissionReviewVersions")  # written even when they are not given


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

"""The objects that a bundle ships, as they are; those of namespaced kinds go where the operator lives.

CRDs, too, except where a webhook of the CSV converts between their versions.
"""

from collections.abc import Iterator

from rukpak_py.core.errors import ContentError
from rukpak_py.formats.documents import Document
from rukpak_py.formats.json_fields import Json
from rukpak_py.formats.registry_v1.bundle import Definition, Webhook, WebhookType
from rukpak_py.formats.registry_v1.kinds import AUTOSCALER, OLD_DEFINITIONS, SUPPORTED
from rukpak_py.formats.registry_v1.render.installation import RenderTarget, annotated
from rukpak_py.formats.registry_v1.render.webhooks import injection, service_reference


def definitions(installation: RenderTarget) -> Iterator[Json]:
    webhooks = installation.bundle.csv.webhooks_of(WebhookType.CONVERSION)
    converters = {name: webhook for webhook in webhooks for name in webhook.conversion_crds}
    for definition in installation.bundle.definitions:
        manifest = {key: value for key, value in definition.manifest.items() if key != "status"}
        webhook = converters.get(definition.name)
        # Upstream forces the old version through the new one's fields, and loses what does not fit.
        is_old = definition.document.api_version == OLD_DEFINITIONS
        if webhook is None or (is_old and not installation.bundle.parity):
            yield manifest
        else:
            yield _converted(installation, definition, manifest, webhook)


def _converted(installation: RenderTarget, definition: Definition, manifest: Json, webhook: Webhook) -> Json:
    spec = manifest.get("spec") or {}
    if spec.get("preserveUnknownFields"):
        message = (
            f"custom resource definition '{definition.name}' must have .spec.preserveUnknownFields set to false "
            "to let API Server call webhook to do the conversion"
        )
        raise ContentError(message if installation.bundle.parity else f"{definition.document.file}: {message}")
    path = "/" if webhook.webhook_path is None else webhook.webhook_path
    conversion = {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {"service": service_reference(installation, webhook, path)},
            "conversionReviewVersions": webhook.typed.get("admissionReviewVersions"),
        },
    }
    converted = {**manifest, "spec": {**spec, "conversion": conversion}}
    provider = installation.certificates
    instead_of = provider.instead_of if provider is not None and not installation.bundle.parity else ()
    return annotated(converted, injection(installation, webhook), instead_of=instead_of)


def other_objects(installation: RenderTarget) -> Iterator[Json]:
    """In reading order, one for each document."""
    for document in installation.bundle.others:
        yield _placed(installation, document)


def _placed(installation: RenderTarget, document: Document) -> Json:
    metadata = document.manifest.get("metadata", {})
    if metadata is None:
        return document.manifest  # upstream cannot set a field of null, and goes on
    is_placed = SUPPORTED[document.kind]
    if document.kind == AUTOSCALER and not installation.bundle.parity:
        is_placed = not metadata.get("namespace")
    if not is_placed:
        return document.manifest
    return {**document.manifest, "metadata": {**metadata, "namespace": installation.namespace}}

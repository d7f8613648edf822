"""A registry+v1 bundle as values: what the reader makes, what rules look at, what the renderer turns into objects.

Everything typed here went through Go's typed decoding (`restore`): texts are texts, lists are lists, absent is empty.
A bundle read with `parity` is what the reference renderer would hold, its losses included; otherwise unknown fields
stay in definitions and pod specs, and definitions of the old version v1beta1 stay as they were written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from rukpak_py.content.yaml_positions import Path
from rukpak_py.formats.documents import Document
from rukpak_py.formats.format import ContentDescription
from rukpak_py.formats.json_fields import Json
from rukpak_py.formats.rules import Place

SUGGESTED_NAMESPACE: Final = "operatorframework.io/suggested-namespace"  # an annotation of the CSV
DEFAULT_PORT: Final = 443  # of a webhook that names none
_INSTALL: Path = ("spec", "install", "spec")


class InstallMode(StrEnum):
    """In alphabetical order, which is the order of messages."""

    ALL = "AllNamespaces"
    MULTI = "MultiNamespace"
    OWN = "OwnNamespace"
    SINGLE = "SingleNamespace"


class WebhookType(StrEnum):
    CONVERSION = "ConversionWebhook"
    MUTATING = "MutatingAdmissionWebhook"
    VALIDATING = "ValidatingAdmissionWebhook"


@dataclass(frozen=True, kw_only=True, slots=True)
class CsvPermission:
    service_account: str  # "" as written; what it means ("default") is the renderer's
    rules: list[Json] | None  # typed policy rules: known fields only
    path: Path  # in the CSV's document, as every `path` below


@dataclass(frozen=True, kw_only=True, slots=True)
class DeploymentEntry:
    name: str
    label: Mapping[str, str]
    spec: Json  # a typed DeploymentSpec in JSON form
    path: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Webhook:
    """A webhook definition; `typed` holds the fields that are copied as they are (rules, selectors, policies)."""

    generate_name: str
    type: str  # a WebhookType, or anything else
    deployment_name: str
    container_port: int  # 0 when it is not given
    target_port: int | str | None
    webhook_path: str | None
    conversion_crds: Sequence[str]
    typed: Json
    path: Path

    @property
    def ports(self) -> tuple[int, int | str]:
        """The port of its Service, and what that leads to."""
        port = self.container_port if self.container_port > 0 else DEFAULT_PORT
        return port, port if self.target_port is None else self.target_port


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnedDefinition:
    """An entry of customresourcedefinitions.owned."""

    name: str
    version: str
    kind: str
    path: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Csv:
    document: Document
    name: str
    annotations: Mapping[str, str]  # after the properties of metadata/properties.yaml were merged in
    typed: Json  # the whole CSV in typed JSON form
    install_modes: Sequence[tuple[str, bool]]  # as listed
    deployments: Sequence[DeploymentEntry]
    permissions: Sequence[CsvPermission]
    cluster_permissions: Sequence[CsvPermission]
    webhooks: Sequence[Webhook]
    owned: Sequence[OwnedDefinition]
    owned_api_services: Sequence[Json]

    @property
    def supported_modes(self) -> list[str]:
        """In alphabetical order, unknown names among them, as messages list them."""
        return sorted({mode for mode, is_supported in self.install_modes if is_supported})

    def webhooks_of(self, webhook_type: WebhookType) -> list[Webhook]:
        return [webhook for webhook in self.webhooks if webhook.type == webhook_type]


@dataclass(frozen=True, kw_only=True, slots=True)
class Definition:
    """A CustomResourceDefinition of the bundle."""

    document: Document
    name: str
    manifest: Json  # typed; what is emitted unless a conversion webhook rewrites a part of it


@dataclass(frozen=True, kw_only=True, slots=True)
class Dependency:
    type: str
    value: Any
    place: Place


@dataclass(frozen=True, kw_only=True, slots=True)
class BundleMetadata:
    """metadata/annotations.yaml, dependencies and properties."""

    package: str
    channels: str = ""  # as written: separated by commas
    default_channel: str = ""
    openshift_versions: str = ""  # as catalogs read it; the renderer does not
    dependencies: Sequence[Dependency] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RegistryBundle:
    parity: bool
    metadata: BundleMetadata
    csv: Csv
    definitions: Sequence[Definition]
    others: Sequence[Document]

    @property
    def description(self) -> ContentDescription:
        version = self.csv.typed.get("spec", {}).get("version")
        return ContentDescription(name=self.csv.name, version=str(version or ""), package=self.metadata.package)


def csv_of(document: Document, typed: Json) -> Csv:
    metadata, spec = _object(typed, "metadata"), _object(typed, "spec")
    strategy = _object(_object(spec, "install"), "spec")
    return Csv(
        document=document,
        name=metadata.get("name") or "",
        annotations=metadata.get("annotations") or {},
        typed=typed,
        install_modes=[
            (mode.get("type") or "", bool(mode.get("supported"))) for mode, _ in _entries(spec, (), "installModes")
        ],
        deployments=[_deployment(*entry) for entry in _entries(strategy, _INSTALL, "deployments")],
        permissions=[_permission(*entry) for entry in _entries(strategy, _INSTALL, "permissions")],
        cluster_permissions=[_permission(*entry) for entry in _entries(strategy, _INSTALL, "clusterPermissions")],
        webhooks=[_webhook(*entry) for entry in _entries(spec, ("spec",), "webhookdefinitions")],
        owned=[_owned(*entry) for entry in _entries(*_below_spec(spec, "customresourcedefinitions"), "owned")],
        owned_api_services=[entry for entry, _ in _entries(*_below_spec(spec, "apiservicedefinitions"), "owned")],
    )


def _object(parent: Json, key: str) -> Json:
    return parent.get(key) or {}


def _below_spec(spec: Json, key: str) -> tuple[Json, Path]:
    return _object(spec, key), ("spec", key)


def _entries(parent: Json, path: Path, key: str) -> list[tuple[Json, Path]]:
    entries: list[Any] = parent.get(key) or []
    return [(entry or {}, (*path, key, index)) for index, entry in enumerate(entries)]


def _deployment(entry: Json, path: Path) -> DeploymentEntry:
    return DeploymentEntry(
        name=entry.get("name") or "",
        label=entry.get("label") or {},
        spec=_object(entry, "spec"),
        path=path,
    )


def _permission(entry: Json, path: Path) -> CsvPermission:
    return CsvPermission(service_account=entry.get("serviceAccountName") or "", rules=entry.get("rules"), path=path)


def _webhook(entry: Json, path: Path) -> Webhook:
    return Webhook(
        generate_name=entry.get("generateName") or "",
        type=entry.get("type") or "",
        deployment_name=entry.get("deploymentName") or "",
        container_port=entry.get("containerPort") or 0,
        target_port=entry.get("targetPort"),
        webhook_path=entry.get("webhookPath"),
        conversion_crds=entry.get("conversionCRDs") or [],
        typed=entry,
        path=path,
    )


def _owned(entry: Json, path: Path) -> OwnedDefinition:
    return OwnedDefinition(
        name=entry.get("name") or "", version=entry.get("version") or "", kind=entry.get("kind") or "", path=path
    )

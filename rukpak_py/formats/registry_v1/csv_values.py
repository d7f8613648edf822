"""A typed ClusterServiceVersion as the values that rules and the renderer ask for, with the paths where they stand."""

from typing import Any

from rukpak_py.content.yaml_positions import Path
from rukpak_py.formats.documents import Document
from rukpak_py.formats.registry_v1.bundle import (
    Csv,
    CsvPermission,
    DeploymentEntry,
    Json,
    OwnedDefinition,
    Webhook,
)

_INSTALL: Path = ("spec", "install", "spec")


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

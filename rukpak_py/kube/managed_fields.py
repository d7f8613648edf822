"""Entries of `managedFields`: reading one of an answer, and writing one that owns other fields."""

from typing import Any

import orjson

from rukpak_py.kube.metadata import ManagedFields

Entry = dict[str, Any]


def is_ours(entry: ManagedFields, manager: str) -> bool:
    """Whether it is the entry that `manager` has by Apply; those by Update, or of a subresource, are others."""
    return entry.manager == manager and entry.operation == "Apply" and not entry.subresource


def fields_in(entry: ManagedFields) -> dict[str, Any]:
    fields: dict[str, Any] = orjson.loads(bytes(entry.fields_v1) or b"{}")
    return fields


def entry_with(entry: ManagedFields, fields: dict[str, Any]) -> Entry:
    """The entry as the server takes it, owning these fields."""
    sent = {
        "manager": entry.manager,
        "operation": entry.operation,
        "apiVersion": entry.api_version,
        "subresource": entry.subresource,
        "time": entry.time,
    }
    present = {name: value for name, value in sent.items() if value}
    return {**present, "fieldsType": "FieldsV1", "fieldsV1": fields}

"""The metadata of objects, decoded without touching the rest of their bytes.

A `Metadata` is what the server sent: unknown fields are skipped, `null` counts as absent. The raw bytes of each
`managedFields` entry are equal in every kind of answer (PATCH, GET, LIST, WATCH, whole or metadata-only), so their
hash tells whether the fields that one manager owns have changed.
"""

import hashlib
from typing import Any

import msgspec
import orjson

from rukpak_py.api.metadata import OwnerReference
from rukpak_py.core.nesting import decoded
from rukpak_py.core.objects import ObjectKey


class ManagedFields(msgspec.Struct, gc=False, frozen=True, kw_only=True, rename="camel"):
    manager: str = ""
    operation: str = ""
    subresource: str | None = None
    api_version: str | None = None
    time: str | None = None
    fields_v1: msgspec.Raw = msgspec.Raw()


class Metadata(msgspec.Struct, gc=False, frozen=True, kw_only=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    sent_labels: dict[str, str] | None = msgspec.field(default=None, name="labels")
    sent_annotations: dict[str, str] | None = msgspec.field(default=None, name="annotations")
    sent_owner_references: list[OwnerReference] | None = msgspec.field(default=None, name="ownerReferences")
    sent_finalizers: list[str] | None = msgspec.field(default=None, name="finalizers")
    sent_managed_fields: list[ManagedFields] | None = msgspec.field(default=None, name="managedFields")

    @property
    def labels(self) -> dict[str, str]:
        return self.sent_labels or {}

    @property
    def annotations(self) -> dict[str, str]:
        return self.sent_annotations or {}

    @property
    def owner_references(self) -> list[OwnerReference]:
        return self.sent_owner_references or []

    @property
    def finalizers(self) -> list[str]:
        return self.sent_finalizers or []

    @property
    def managed_fields(self) -> list[ManagedFields]:
        return self.sent_managed_fields or []

    @property
    def version(self) -> int:
        """The resourceVersion as a number: comparable among objects of one resource, 0 when unknown."""
        return int(self.resource_version) if self.resource_version.isdecimal() else 0

    @property
    def is_deleted(self) -> bool:
        """Deletion was asked for; finalizers may still hold the object."""
        return self.deletion_timestamp is not None

    @property
    def controller(self) -> OwnerReference | None:
        return next((owner for owner in self.owner_references if owner.controller), None)


class LiveObject(msgspec.Struct, gc=False, frozen=True, kw_only=True):
    """An object as the API server returned it. `json` is the whole object, kept only where it was asked for."""

    key: ObjectKey
    metadata: Metadata
    json: bytes | None = None

    def identity(self) -> "LiveObject":
        """A copy with only what tells it from other objects and other versions, in memory of its own."""
        whole = self.metadata
        metadata = Metadata(
            name=whole.name, namespace=whole.namespace, uid=whole.uid, resource_version=whole.resource_version
        )
        return LiveObject(key=self.key, metadata=metadata)


class _Envelope(msgspec.Struct, gc=False, kw_only=True):
    metadata: Metadata | None = None


_ENVELOPE = msgspec.json.Decoder(_Envelope)
_NO_METADATA = Metadata()


def decode_metadata(json: bytes) -> Metadata:
    """The metadata of an object or PartialObjectMetadata. It keeps `json` alive through its raw parts."""
    return decoded(_ENVELOPE, json).metadata or _NO_METADATA


def field_hash(metadata: Metadata, manager: str) -> str | None:
    """The hash of what `manager` owns by Apply; its entries by Update or on a subresource are other entries."""
    for entry in metadata.managed_fields:
        if entry.manager == manager and entry.operation == "Apply" and not entry.subresource:
            return hashlib.sha256(bytes(entry.fields_v1)).hexdigest()
    return None


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

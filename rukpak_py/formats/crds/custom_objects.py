"""Custom resources held against the CRDs that come with them."""

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from rukpak_py.formats.crds.values import Unknown, unfit
from rukpak_py.formats.crds.written import API_VERSION, DEFINITION
from rukpak_py.formats.documents import Document
from rukpak_py.formats.json_fields import Json, entries, mapping, text

# Schemas by apiVersion of the versions that are served; of each group and kind.
Schemas: TypeAlias = dict[tuple[str, str], dict[str, Json]]

_DEEPEST: Final = 40  # as far as values are held against schemas
_OPEN: Final[Json] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_EVERY_OBJECT: Final[Json] = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": _OPEN}


def schemas_of(definitions: Iterable[Document]) -> Schemas:
    """Schemas with the fields that each object has. A version without a schema is served with an empty one."""
    found: Schemas = {}
    for document in definitions:
        spec = mapping(document.manifest, "spec")
        group, kind = text(spec, "group"), text(spec, "names", "kind")
        if (document.api_version, document.kind) != (API_VERSION, DEFINITION) or not group or not kind:
            continue
        versions = found.setdefault((group, kind), {})
        for _, version in entries(spec, "versions"):
            if version.get("served") is not False:
                versions[f"{group}/{text(version, 'name')}"] = _completed(version)
    return found


def _completed(version: Json) -> Json:
    schema = mapping(version, "schema", "openAPIV3Schema")
    if not schema:
        return {}
    properties = {**mapping(schema, "properties"), **_EVERY_OBJECT}
    if mapping(version, "subresources").get("status") is not None:
        properties["status"] = _OPEN  # of an object that is created, the server takes none
    return {**schema, "properties": properties}


def served(manifest: Json, schemas: Schemas) -> dict[str, Json] | None:
    """The served versions of the object's kind; None where no CRD is of its kind."""
    group = text(manifest, "apiVersion").rpartition("/")[0]
    return schemas.get((group, text(manifest, "kind")))


def misfit(manifest: Json, schemas: Schemas, *, unknown: Unknown) -> str:
    """Say what is wrong with the object; empty where nothing is, or where no served version is its own."""
    schema = (served(manifest, schemas) or {}).get(text(manifest, "apiVersion"))
    if not schema:
        return ""
    return unfit(_without_nulls(manifest, schema), schema, "", unknown=unknown).removeprefix(".")


def _without_nulls(value: Any, schema: Json, deepest: int = _DEEPEST) -> Any:
    """The value as the server stores it: a null member that is not nullable is dropped."""
    if deepest == 0:
        return value
    if isinstance(value, list):
        items = mapping(schema, "items")
        return [_without_nulls(one, items, deepest - 1) for one in value]
    if isinstance(value, dict):
        inner = {key: _schema_of_member(schema, key) for key in value}
        return {
            key: _without_nulls(one, inner[key], deepest - 1)
            for key, one in value.items()
            if one is not None or inner[key].get("nullable") is True
        }
    return value


def _schema_of_member(schema: Json, key: str) -> Json:
    properties = mapping(schema, "properties")
    return mapping(properties, key) if key in properties else mapping(schema, "additionalProperties")

"""Examples and shipped objects held against the schemas of the bundle's own CRDs.

An unknown field is told of examples alone: an API server drops it without a word, and examples are made to be copied.
"""

from collections.abc import Iterator
from typing import Any, Final

from rukpak_py.core.findings import Severity
from rukpak_py.formats.json_fields import Json, entries, mapping, text
from rukpak_py.formats.object_rules.schema_values import unfit
from rukpak_py.formats.registry_v1.bundle import RegistryBundle
from rukpak_py.formats.registry_v1.rules.examples import example_objects
from rukpak_py.formats.rules import Family, Place, Problem

FAMILY: Family[RegistryBundle] = Family(title="Objects of the bundle's own CRDs", origin="rukpak-py")

_SCHEMA: Final = ("schema", "openAPIV3Schema")
_DEEPEST: Final = 40  # as far as values are held against schemas
_OPEN: Final[Json] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_EVERY_OBJECT: Final[Json] = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": _OPEN}


@FAMILY.rule(
    "RV1-980",
    severity=Severity.WARNING,
    title="An example fits the schema of its CRD",
    hint="Correct the example, or the schema in the CRD: as they are, the API server refuses or changes the example.",
)
def examples_fit(bundle: RegistryBundle) -> Iterator[Problem]:
    schemas = _schemas(bundle)
    for place, example in example_objects(bundle.csv.document):
        yield from _problems(example, schemas, place, subject="the example of ", allows_unknown=False)


@FAMILY.rule(
    "RV1-981",
    severity=Severity.WARNING,
    title="A shipped object fits the schema of its CRD",
    hint="Correct the object, or the schema in the CRD: the API server refuses the object.",
)
def shipped_objects_fit(bundle: RegistryBundle) -> Iterator[Problem]:
    schemas = _schemas(bundle)
    for document in bundle.others:
        yield from _problems(document.manifest, schemas, document.place(), subject="", allows_unknown=True)


def _problems(
    manifest: Json, schemas: dict[tuple[str, str], Json], place: Place, *, subject: str, allows_unknown: bool
) -> Iterator[Problem]:
    api = text(manifest, "apiVersion"), text(manifest, "kind")
    schema = schemas.get(api)
    if schema is not None and (wrong := unfit(_without_nulls(manifest), schema, "", allows_unknown=allows_unknown)):
        name = text(manifest, "metadata", "name")
        yield Problem(message=f"{subject}{api[1]} ({api[0]}) {name}: {wrong.removeprefix('.')}", place=place)


def _without_nulls(value: Any, deepest: int = _DEEPEST) -> Any:
    """The value as the server stores it: a null member that is not nullable is dropped."""
    if deepest == 0:
        return value
    if isinstance(value, list):
        return [_without_nulls(one, deepest - 1) for one in value]
    if isinstance(value, dict):
        return {key: _without_nulls(one, deepest - 1) for key, one in value.items() if one is not None}
    return value


def _schemas(bundle: RegistryBundle) -> dict[tuple[str, str], Json]:
    """Schemas by apiVersion and kind, with the fields that each object has."""
    found: dict[tuple[str, str], Json] = {}
    for definition in bundle.definitions:
        spec = mapping(definition.manifest, "spec")
        for _, version in entries(spec, "versions"):
            schema = mapping(version, *_SCHEMA)
            if schema:
                api = f"{text(spec, 'group')}/{text(version, 'name')}", text(spec, "names", "kind")
                properties = {**mapping(schema, "properties"), **_EVERY_OBJECT}
                if mapping(version, "subresources").get("status") is not None:
                    properties["status"] = _OPEN  # of an object that is created, the server takes none
                found[api] = {**schema, "properties": properties}
    return found

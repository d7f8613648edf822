"""Properties of a bundle: the annotation olm.properties, and metadata/properties.yaml that is appended to it.

Both are lists of {type, value}. The result is compact JSON with `type` and `value` in that order. A value of the
annotation keeps its text (the spelling of numbers, the order of keys) without blanks; one of the file went through YAML
and has sorted keys. Either way `<`, `>` and `&` are escaped.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from rukpak_py.content.yaml_positions import Path
from rukpak_py.content.yaml_scalars import without_surrogates
from rukpak_py.core import gojson, json_text
from rukpak_py.core.json_text import Span
from rukpak_py.formats.manifests import go_kind
from rukpak_py.formats.registry_v1.metadata.go_fields import fields, text_of
from rukpak_py.formats.registry_v1.typed.traces import TypeDefect

ANNOTATION = "olm.properties"
PROPERTIES_FILE = "metadata/properties.yaml"

_FIELDS = ("type", "value")
_KINDS = {"{": "object", "[": "array", '"': "string", "t": "bool", "f": "bool", "n": "null"}
_WANTED = "property.Property"


@dataclass(frozen=True, kw_only=True, slots=True)
class Property:
    type: str = ""
    value: str = "null"  # compact JSON


# None: the list was null or absent, which is written as null.
Properties: TypeAlias = Sequence[Property] | None


def of_annotation(text: str) -> tuple[Properties, list[TypeDefect]]:
    """The properties of the annotation; the text of a defect is Go's, its path within the list."""
    try:
        json_text.check(text)
    except json_text.JsonSyntaxError as error:
        return None, [TypeDefect(path=(), text=str(error))]
    span = json_text.whole(text)
    kind = _kind(text, span)
    if kind == "null":
        return None, []
    if kind != "array":
        return None, [TypeDefect(path=(), text=f"json: cannot unmarshal {kind} into Go value of type []{_WANTED}")]
    defects: list[TypeDefect] = []
    return [_of_json(text, item, (n,), defects) for n, item in enumerate(json_text.elements(text, span))], defects


def of_file(document: Any) -> tuple[Properties, list[TypeDefect]]:
    """The properties of the parsed file; the reference puts metadata.UNMARSHALING in front of a defect's text."""
    if document is None:
        return None, []
    if not isinstance(document, dict):
        text = f"json: cannot unmarshal {go_kind(document)} into Go value of type source.RegistryV1Properties"
        return None, [TypeDefect(path=(), text=text)]
    defects: list[TypeDefect] = []
    found: Properties = None
    for key, _ in fields(document, ["properties"]):
        listed = document[key]
        if isinstance(listed, list):
            found = [_of_yaml(item, (key, index), defects) for index, item in enumerate(listed)]
        elif listed is None:
            found = None
        else:
            defects.append(_defect((key,), listed, "RegistryV1Properties.properties", f"[]{_WANTED}"))
    return found, defects


def merged(annotation: Properties, file: Properties) -> str:
    """The new text of the annotation. Nothing at all is null, also where both are empty lists."""
    if not annotation and not file:
        return "null"
    return "[" + ",".join(map(_written, [*(annotation or ()), *(file or ())])) + "]"


def _written(entry: Property) -> str:
    return f'{{"type":{gojson.encode(entry.type).decode()},"value":{entry.value}}}'


def _of_json(text: str, span: Span, path: Path, defects: list[TypeDefect]) -> Property:
    found = Property()
    kind = _kind(text, span)
    if kind != "object":
        if kind != "null":
            problem = f"json: cannot unmarshal {kind} into Go value of type {_WANTED}"
            defects.append(TypeDefect(path=path, text=problem))
        return found
    for key_span, value in json_text.members(text, span):
        key = _text(text, key_span)
        for _, name in fields({key: None}, _FIELDS):
            kind = _kind(text, value)
            if name == "value":
                found = replace(found, value=json_text.compact(text, value))
            elif kind == "string":
                found = replace(found, type=_text(text, value))
            elif kind != "null":
                problem = f"json: cannot unmarshal {kind} into Go struct field Property.type of type string"
                defects.append(TypeDefect(path=(*path, key), text=problem))
    return found


def _of_yaml(item: Any, path: Path, defects: list[TypeDefect]) -> Property:
    found = Property()
    if not isinstance(item, dict):
        if item is not None:
            defects.append(_defect(path, item, "RegistryV1Properties.properties", _WANTED))
        return found
    for key, name in fields(item, _FIELDS):
        value = item[key]
        if name == "value":
            try:
                found = replace(found, value=gojson.encode(value).decode())
            except RecursionError:
                defects.append(TypeDefect(path=(*path, key), text="the value is nested too deeply"))
        elif (text := text_of(value)) is not None:
            found = replace(found, type=text)
        elif value is not None:
            defects.append(_defect((*path, key), value, "Property.properties.type", "string"))
    return found


def _defect(path: Path, value: Any, field: str, wanted: str) -> TypeDefect:
    return TypeDefect(
        path=path, text=f"json: cannot unmarshal {go_kind(value)} into Go struct field {field} of type {wanted}"
    )


def _kind(text: str, span: Span) -> str:
    return _KINDS.get(text[span[0]], "number")


def _text(text: str, span: Span) -> str:
    value: str = json.loads(text[slice(*span)])
    return without_surrogates(value)

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
from rukpak_py.formats.registry_v1.metadata.go_fields import fields, text_of
from rukpak_py.formats.type_defects import TypeDefect, Wanted, must_be

ANNOTATION = "olm.properties"
PROPERTIES_FILE = "metadata/properties.yaml"

_FIELDS = ("type", "value")


@dataclass(frozen=True, kw_only=True, slots=True)
class Property:
    type: str = ""
    value: str = "null"  # compact JSON


# None: the list was null or absent, which is written as null.
Properties: TypeAlias = Sequence[Property] | None


def of_annotation(text: str) -> tuple[Properties, list[str]]:
    """The properties of the annotation, and what is wrong with it."""
    try:
        json_text.check(text)
    except json_text.JsonSyntaxError as error:
        return None, [f"{error} at character {error.position + 1}"]
    span = json_text.whole(text)
    value = _outline(text, span)
    if value is None:
        return None, []
    if not isinstance(value, list):
        return None, [f"it {must_be(Wanted.LIST, value)}"]
    defects: list[TypeDefect] = []
    found = [_of_json(text, item, (n,), defects) for n, item in enumerate(json_text.elements(text, span))]
    return found, [defect.message for defect in defects]


def of_file(document: Any) -> tuple[Properties, list[TypeDefect]]:
    """The properties of the parsed file, and every value of a wrong type."""
    if document is None:
        return None, []
    if not isinstance(document, dict):
        return None, [TypeDefect(path=(), wanted=Wanted.OBJECT, got=document)]
    defects: list[TypeDefect] = []
    found: Properties = None
    for key, _ in fields(document, ["properties"]):
        listed = document[key]
        if isinstance(listed, list):
            found = [_of_yaml(item, (key, index), defects) for index, item in enumerate(listed)]
        elif listed is None:
            found = None
        else:
            defects.append(TypeDefect(path=(key,), wanted=Wanted.LIST, got=listed))
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
    outline = _outline(text, span)
    if not isinstance(outline, dict):
        if outline is not None:
            defects.append(TypeDefect(path=path, wanted=Wanted.OBJECT, got=outline))
        return found
    for key_span, value in json_text.members(text, span):
        key = _string(text, key_span)
        for _, name in fields({key: None}, _FIELDS):
            outline = _outline(text, value)
            if name == "value":
                found = replace(found, value=json_text.compact(text, value))
            elif isinstance(outline, str):
                found = replace(found, type=_string(text, value))
            elif outline is not None:
                defects.append(TypeDefect(path=(*path, key), wanted=Wanted.STRING, got=outline))
    return found


def _of_yaml(item: Any, path: Path, defects: list[TypeDefect]) -> Property:
    found = Property()
    if not isinstance(item, dict):
        if item is not None:
            defects.append(TypeDefect(path=path, wanted=Wanted.OBJECT, got=item))
        return found
    for key, name in fields(item, _FIELDS):
        value = item[key]
        if name == "value":
            try:
                found = replace(found, value=gojson.encode(value).decode())
            except RecursionError:
                defects.append(TypeDefect(path=(*path, key), wanted=Wanted.SHALLOW, got=value))
        elif (text := text_of(value)) is not None:
            found = replace(found, type=text)
        elif value is not None:
            defects.append(TypeDefect(path=(*path, key), wanted=Wanted.STRING, got=value))
    return found


def _outline(text: str, span: Span) -> Any:
    """The value at the span, without what a list or an object holds."""
    match text[span[0]]:
        case "{":
            return {}
        case "[":
            return []
        case '"':
            return _string(text, span)
        case "t" | "f" | "n":
            return json.loads(text[slice(*span)])
        case _:
            return float(text[slice(*span)])


def _string(text: str, span: Span) -> str:
    value: str = json.loads(text[slice(*span)])
    return without_surrogates(value)

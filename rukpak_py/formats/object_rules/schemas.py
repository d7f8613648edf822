"""Defects of the schemas of a CRD: not structural, defaults of a wrong type, lists and maps of unknown sorts.

A schema is structural when each field, item and root has a type of its own, and what stands below allOf, anyOf, oneOf
and not only narrows values. Schemas nest as deeply as their authors like, so nothing here recurses but for defaults,
which are small.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from rukpak_py.content.yaml_positions import Path
from rukpak_py.formats.crds.values import problem_of_pattern, unfit
from rukpak_py.formats.json_fields import Json
from rukpak_py.formats.object_rules.cel import problem_of_expression
from rukpak_py.formats.object_rules.parts import Defect, Part, Sort

_SCHEMA: Final = ("schema", "openAPIV3Schema")
_LOGICAL: Final = ("allOf", "anyOf", "oneOf")
_FORBIDDEN: Final = ("$ref", "definitions", "dependencies", "patternProperties", "additionalItems", "id")
_EXTENSIONS: Final = (
    *("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"),
    *("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"),
)
# Below allOf, anyOf, oneOf and not: these say what a value is, and not what of it is valid.
_NOT_NARROWING: Final = ("type", "description", "title", "default", "nullable", "additionalProperties", *_EXTENSIONS)
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_PRESERVES: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_LIST_TYPE, _KEYS, _MAP_TYPE = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"
_VALIDATIONS: Final = "x-kubernetes-validations"
_LIST_TYPES: Final = ("atomic", "map", "set")
_MAP_TYPES: Final = ("atomic", "granular")
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_SCALARS: Final = ("boolean", "integer", "number", "string")
_OF_ROOT_METADATA: Final = frozenset({"generateName", "name"})


@dataclass(frozen=True, slots=True)
class _Node:
    schema: Json
    path: Path
    narrowed: Json | None = None  # what a schema below allOf, anyOf, oneOf or not narrows
    is_root: bool = False
    in_metadata: bool = False

    def defect(self, sort: Sort, message: str, *path: str | int) -> Defect:
        return Defect(sort=sort, path=(*self.path, *path), message=message)


def schemas(part: Part) -> Iterator[Defect]:
    """Those of all versions of a CustomResourceDefinition."""
    versions = part.mapping("spec").get("versions")
    for index, version in enumerate(versions if isinstance(versions, list) else []):
        schema = version.get("schema") if isinstance(version, dict) else None
        root = schema.get("openAPIV3Schema") if isinstance(schema, dict) else None
        if isinstance(root, dict):
            yield from _of_schema(_Node(root, ("spec", "versions", index, *_SCHEMA), is_root=True))


def _of_schema(root: _Node) -> Iterator[Defect]:
    pending = [root]
    while pending:
        node = pending.pop()
        yield from _forms(node)
        if node.narrowed is not None:
            yield from _narrowing(node)
        else:
            yield from _structure(node)
            yield from _extensions(node)
            yield from _default(node)
        yield from _rules(node)
        pending += _below(node)


def _below(node: _Node) -> Iterator[_Node]:
    schema, narrowed = node.schema, node.narrowed
    for name, inner in _mapping(schema, "properties").items():
        if isinstance(inner, dict):
            outer = _mapping(narrowed, "properties").get(name, {}) if narrowed is not None else None
            in_metadata = node.in_metadata or (node.is_root and name == "metadata")
            path = (*node.path, "properties", name)
            yield _Node(inner, path, outer if outer is None or isinstance(outer, dict) else {}, in_metadata=in_metadata)
    for name in ("items", "additionalProperties"):
        inner = schema.get(name)
        if isinstance(inner, dict):
            outer = narrowed.get(name) if narrowed is not None else None
            of = None if narrowed is None else outer if isinstance(outer, dict) else {}
            yield _Node(inner, (*node.path, name), of, in_metadata=node.in_metadata)
    for name in _LOGICAL:
        listed = schema.get(name)
        for index, inner in enumerate(listed if isinstance(listed, list) else []):
            if isinstance(inner, dict):
                yield _Node(inner, (*node.path, name, index), schema if narrowed is None else narrowed)
    inner = schema.get("not")
    if isinstance(inner, dict):
        yield _Node(inner, (*node.path, "not"), schema if narrowed is None else narrowed)


def _forms(node: _Node) -> Iterator[Defect]:
    """Find what no schema of a CRD may have, wherever it stands."""
    schema = node.schema
    for name in _FORBIDDEN:
        if schema.get(name):
            yield node.defect(Sort.UNION, f"{name} is not supported in schemas of CRDs", name)
    if isinstance(schema.get("items"), list):
        yield node.defect(Sort.TYPE, "items must be a schema, not a list of schemas", "items")
    if schema.get("uniqueItems") is True:
        message = "uniqueItems must not be true: use x-kubernetes-list-type: set"
        yield node.defect(Sort.UNION, message, "uniqueItems")
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and (problem := problem_of_pattern(pattern)):
        yield node.defect(Sort.FORM, f'pattern "{pattern[:80]}": {problem}', "pattern")


def _narrowing(node: _Node) -> Iterator[Defect]:
    narrowed = node.narrowed or {}
    is_int_or_string = narrowed.get(_INT_OR_STRING) is True and set(node.schema) <= {"type"}
    for name in _NOT_NARROWING:
        if node.schema.get(name) and not (name == "type" and is_int_or_string):
            message = f"{name} must not be set below allOf, anyOf, oneOf or not: set it outside"
            yield node.defect(Sort.UNION, message, name)
    if not narrowed.get(_PRESERVES) and "additionalProperties" not in narrowed:
        for name in _mapping(node.schema, "properties"):
            if name not in _mapping(narrowed, "properties"):
                message = f"properties.{name} is not a property of the schema around it: add it there, with its type"
                yield node.defect(Sort.REFERENCE, message, "properties", name)


def _structure(node: _Node) -> Iterator[Defect]:
    schema, type_name = node.schema, node.schema.get("type")
    is_any = schema.get(_INT_OR_STRING) is True or (schema.get(_PRESERVES) is True and not node.is_root)
    if not type_name and not is_any:
        yield node.defect(Sort.REQUIRED, "type is required", "type")
    elif node.is_root and type_name != "object":
        yield node.defect(Sort.CHOICE, "the type of the whole object must be object", "type")
    if schema.get("properties") and schema.get("additionalProperties") is not None:
        yield node.defect(Sort.UNION, "properties and additionalProperties exclude each other", "additionalProperties")
    if type_name == "array" and not isinstance(schema.get("items"), dict | list):
        yield node.defect(Sort.REQUIRED, "items are required with type array", "items")
    if node.is_root:
        yield from _of_root_metadata(node)


def _of_root_metadata(node: _Node) -> Iterator[Defect]:
    metadata = _mapping(node.schema, "properties").get("metadata")
    if not isinstance(metadata, dict):
        return
    for name in _mapping(metadata, "properties"):
        if name not in _OF_ROOT_METADATA:
            message = "only name and generateName may be restricted in metadata"
            yield node.defect(Sort.UNION, message, "properties", "metadata", "properties", name)


def _extensions(node: _Node) -> Iterator[Defect]:
    schema, type_name = node.schema, node.schema.get("type")
    if schema.get(_PRESERVES) is False:
        yield node.defect(Sort.CHOICE, f"{_PRESERVES} must be true, or be left out", _PRESERVES)
    if schema.get(_EMBEDDED) is True:
        if type_name != "object":
            yield node.defect(Sort.CHOICE, f"type must be object with {_EMBEDDED}", "type")
        if not schema.get("properties") and schema.get(_PRESERVES) is not True:
            message = f"properties, or {_PRESERVES}, are required with {_EMBEDDED}"
            yield node.defect(Sort.REQUIRED, message, "properties")
    yield from _list_type(node)
    map_type = schema.get(_MAP_TYPE)
    if isinstance(map_type, str) and map_type:
        if map_type not in _MAP_TYPES:
            yield node.defect(Sort.CHOICE, f'{_MAP_TYPE} is "{map_type[:60]}", and may be atomic, granular', _MAP_TYPE)
        elif type_name != "object":
            yield node.defect(Sort.CHOICE, f"type must be object with {_MAP_TYPE}", "type")


def _list_type(node: _Node) -> Iterator[Defect]:
    schema, keys = node.schema, node.schema.get(_KEYS)
    list_type, items = schema.get(_LIST_TYPE), _mapping(schema, "items")
    if keys and list_type != "map":
        yield node.defect(Sort.UNION, f"{_KEYS} are for {_LIST_TYPE}: map", _KEYS)
    if not list_type:
        return
    if list_type not in _LIST_TYPES:
        message = f'{_LIST_TYPE} is "{str(list_type)[:60]}", and may be atomic, map, set'
        yield node.defect(Sort.CHOICE, message, _LIST_TYPE)
    elif schema.get("type") != "array":
        yield node.defect(Sort.CHOICE, f"type must be array with {_LIST_TYPE}", "type")
    elif list_type == "map":
        yield from _map_keys(node, items, keys if isinstance(keys, list) else [])
    elif list_type == "set":
        yield from _set_items(node, items)


def _set_items(node: _Node, items: Json) -> Iterator[Defect]:
    kind = items.get("type")
    if kind == "object" and items.get(_MAP_TYPE) != "atomic":
        yield node.defect(Sort.UNION, f"objects in a set need {_MAP_TYPE}: atomic", "items")
    elif kind == "array" and items.get(_LIST_TYPE, "atomic") != "atomic":
        yield node.defect(Sort.UNION, f"lists in a set need {_LIST_TYPE}: atomic", "items")
    elif items.get("nullable") is True:
        yield node.defect(Sort.UNION, "items of a set must not be nullable", "items", "nullable")


def _map_keys(node: _Node, items: Json, keys: list[Any]) -> Iterator[Defect]:
    if not keys:
        yield node.defect(Sort.REQUIRED, f"{_KEYS} are required with {_LIST_TYPE}: map", _KEYS)
    if items.get("type") != "object":
        yield node.defect(Sort.CHOICE, f"items must be of type object with {_LIST_TYPE}: map", "items", "type")
        return
    required = items.get("required")
    for index, key in enumerate(keys):
        found = _mapping(items, "properties").get(key) if isinstance(key, str) else None
        if not isinstance(found, dict):
            yield node.defect(Sort.REFERENCE, f"the key {str(key)[:60]} is no property of the items", _KEYS, index)
        elif found.get("type") not in _SCALARS and found.get(_INT_OR_STRING) is not True:
            message = f"the key {key[:60]} must be a string, a number or a boolean"
            yield node.defect(Sort.CHOICE, message, "items", "properties", key, "type")
        elif "default" not in found and key not in (required if isinstance(required, list) else []):
            message = f"the key {key[:60]} must be required, or have a default"
            yield node.defect(Sort.REQUIRED, message, "items", "properties", key)
        if key in keys[:index]:
            yield node.defect(Sort.REPEATED, f"the key {str(key)[:60]} is given twice", _KEYS, index)


def _default(node: _Node) -> Iterator[Defect]:
    if "default" not in node.schema or node.schema["default"] is None:
        return
    if node.in_metadata:
        yield node.defect(Sort.UNION, "metadata must not have defaults", "default")
    elif problem := unfit(node.schema["default"], node.schema, "default"):
        yield node.defect(Sort.TYPE, problem, "default")


def _rules(node: _Node) -> Iterator[Defect]:
    listed = node.schema.get(_VALIDATIONS)
    for index, one in enumerate(listed if isinstance(listed, list) else []):
        if not isinstance(one, dict):
            continue
        rule, reason = one.get("rule"), one.get("reason")
        if not isinstance(rule, str) or not rule.strip():
            yield node.defect(Sort.REQUIRED, "rule is required", _VALIDATIONS, index, "rule")
        elif problem := problem_of_expression(rule):
            yield node.defect(Sort.FORM, f"rule: {problem}", _VALIDATIONS, index, "rule")
        written = one.get("messageExpression")
        if isinstance(written, str) and (problem := problem_of_expression(written)):
            yield node.defect(Sort.FORM, f"messageExpression: {problem}", _VALIDATIONS, index, "messageExpression")
        if isinstance(reason, str) and reason and reason not in _REASONS:
            message = f'reason is "{reason[:60]}", and may be {", ".join(_REASONS)}'
            yield node.defect(Sort.CHOICE, message, _VALIDATIONS, index, "reason")
        message_text = one.get("message")
        if isinstance(rule, str) and "\n" in rule.strip() and not message_text:
            yield node.defect(Sort.REQUIRED, "message is required for a rule of several lines", _VALIDATIONS, index)
        if isinstance(message_text, str) and "\n" in message_text.strip():
            yield node.defect(Sort.FORM, "message must be one line", _VALIDATIONS, index, "message")


def _mapping(value: Json | None, field: str) -> Json:
    found = value.get(field) if value is not None else None
    return found if isinstance(found, dict) else {}

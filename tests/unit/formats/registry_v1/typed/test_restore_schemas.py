"""JSON schemas in definitions: parts of them go through Go's JSON decoder, with other rules and other words."""

from typing import Any

import pytest

from rukpak_py.formats.registry_v1.typed.restore import TypeDefect, restore

SCHEMA = "JSONSchemaProps"
NUMBER = "json: cannot unmarshal number"
ARRAY = "json: cannot unmarshal array"


def defects_of(schema: Any) -> list[TypeDefect]:
    defects: list[TypeDefect] = []
    restore(schema, SCHEMA, keep_unknown=False, defects=defects, unknown=[])
    return defects


def texts(schema: Any) -> list[str]:
    return [defect.text for defect in defects_of(schema)]


def restored(schema: Any) -> Any:
    defects: list[TypeDefect] = []
    result = restore(schema, SCHEMA, keep_unknown=False, defects=defects, unknown=[])
    assert defects == []
    return result


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"type": "string"}},
        {"items": [{"type": "string"}, {}]},
        {"additionalProperties": True},
        {"additionalProperties": False},
        {"additionalProperties": {"type": "string", "nullable": True}},
        {"dependencies": {"a": ["b"], "c": {"required": ["d"]}}},
        {"default": {"a": [None, 1.5, ""]}, "enum": [0, None, "", {}], "example": False},
        {"properties": {"a": {}, "b": {"items": {"additionalProperties": {"not": {}}}}}},
    ],
)
def test_a_schema_comes_out_as_it_went_in(schema: Any) -> None:
    assert restored(schema) == schema


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"items": "string"}, {"items": None}),
        ({"items": 5}, {"items": None}),
        ({"items": []}, {"items": None}),
        ({"items": [None]}, {"items": [{}]}),
        ({"items": None, "additionalProperties": None, "default": None}, {}),
        ({"dependencies": {"a": [], "b": "x", "c": None}}, {"dependencies": {"a": None, "b": None, "c": None}}),
        ({"items": {"properties": {}, "required": [], "description": ""}}, {"items": {}}),
        ({"items": {"maxLength": 0, "minimum": 3, "nullable": False}}, {"items": {"maxLength": 0, "minimum": 3}}),
        ({"items": {"properties": {"a": None}, "enum": [None]}}, {"items": {"properties": {"a": {}}, "enum": [None]}}),
    ],
)
def test_what_go_makes_of_odd_schemas(schema: Any, written: Any) -> None:
    assert restored(schema) == written


def test_members_are_case_sensitive_inside_too() -> None:
    unknown: list[tuple[str | int, ...]] = []
    schema = {"items": {"Type": "string"}}
    assert restore(schema, SCHEMA, keep_unknown=False, defects=[], unknown=unknown) == {"items": {}}
    assert unknown == [("items", "Type")]


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"description": 5}, "cannot convert int64 to string"),
        ({"not": {"description": 5}}, "cannot convert int64 to string"),
        ({"additionalProperties": "x"}, "boolean or JSON schema expected"),
        (
            {"items": {"description": 5}},
            f"{NUMBER} into Go struct field JSONSchemaProps.description of type string",
        ),
        (
            {"items": {"properties": {"a": {"type": ["string"]}}}},
            f"{ARRAY} into Go struct field JSONSchemaProps.properties.type of type string",
        ),
        (
            {"items": {"items": {"externalDocs": {"url": True}}}},
            "json: cannot unmarshal bool into Go struct field JSONSchemaProps.items.externalDocs.url of type string",
        ),
        (
            {"items": {"externalDocs": {"url": True}}},
            "json: cannot unmarshal bool into Go struct field ExternalDocumentation.externalDocs.url of type string",
        ),
        (
            {"items": {"maxLength": 1.5}},
            f"{NUMBER} 1.5 into Go struct field JSONSchemaProps.maxLength of type int64",
        ),
        (
            {"items": {"maxLength": 9.3e18}},
            f"{NUMBER} 9300000000000000000 into Go struct field JSONSchemaProps.maxLength of type int64",
        ),
        (
            {"items": {"maximum": "5"}},
            "json: cannot unmarshal string into Go struct field JSONSchemaProps.maximum of type float64",
        ),
        (
            {"items": {"properties": []}},
            f"{ARRAY} into Go struct field JSONSchemaProps.properties of type map[string]v1.JSONSchemaProps",
        ),
        (
            {"items": {"allOf": {}}},
            "json: cannot unmarshal object into Go struct field JSONSchemaProps.allOf of type []v1.JSONSchemaProps",
        ),
        (
            {"items": {"definitions": 1}},
            f"{NUMBER} into Go struct field JSONSchemaProps.definitions of type v1.JSONSchemaDefinitions",
        ),
        ({"items": [5]}, f"{NUMBER} into Go value of type v1.JSONSchemaProps"),
        ({"dependencies": {"a": [5]}}, f"{NUMBER} into Go value of type string"),
    ],
)
def test_a_wrong_type_inside_is_told_in_the_words_of_gos_json_decoder(schema: Any, text: str) -> None:
    assert texts(schema) == [text]


def test_inside_the_order_is_that_of_keys_not_of_fields() -> None:
    wrong = {"type": 5, "description": 5}
    assert [defect.path for defect in defects_of(wrong)] == [("description",), ("type",)]
    late_field_early_key = {"type": 5, "additionalItems": {"title": 1, "enum": 1, "$ref": 1}}
    paths = [defect.path for defect in defects_of(late_field_early_key)]
    assert paths == [("type",), *(("additionalItems", name) for name in ("$ref", "enum", "title"))]


def test_a_document_inside_a_document_is_refused_before_what_stands_around_it() -> None:
    inner = {"items": {"description": 5}, "additionalProperties": {"type": 5}}
    assert [defect.path for defect in defects_of({"items": {"$ref": 5, **inner}})] == [
        ("items", "additionalProperties", "type"),
        ("items", "items", "description"),
        ("items", "$ref"),
    ]

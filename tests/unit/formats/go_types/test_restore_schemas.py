"""JSON schemas in definitions: parts of them go through Go's JSON decoder, which has other rules."""

from typing import Any

import pytest

from rukpak_py.formats.go_types.restore import restore
from rukpak_py.formats.type_defects import TypeDefect, Wanted

SCHEMA = "JSONSchemaProps"


def defects_of(schema: Any) -> list[TypeDefect]:
    defects: list[TypeDefect] = []
    restore(schema, SCHEMA, keep_unknown=False, defects=defects, unknown=[])
    return defects


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
def test_odd_schemas_are_restored_as_go_writes_them(schema: Any, written: Any) -> None:
    assert restored(schema) == written


def test_members_are_case_sensitive_inside_too() -> None:
    unknown: list[tuple[str | int, ...]] = []
    schema = {"items": {"Type": "string"}}
    assert restore(schema, SCHEMA, keep_unknown=False, defects=[], unknown=unknown) == {"items": {}}
    assert unknown == [("items", "Type")]


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        ({"description": 5}, Wanted.STRING),
        ({"not": {"description": 5}}, Wanted.STRING),
        ({"additionalProperties": "x"}, Wanted.SCHEMA),
        ({"items": {"description": 5}}, Wanted.STRING),
        ({"items": {"properties": {"a": {"type": ["string"]}}}}, Wanted.STRING),
        ({"items": {"items": {"externalDocs": {"url": True}}}}, Wanted.STRING),
        ({"items": {"maxLength": 1.5}}, Wanted.INTEGER),
        ({"items": {"maxLength": 9.3e18}}, Wanted.INTEGER),
        ({"items": {"maximum": "5"}}, Wanted.NUMBER),
        ({"items": {"properties": []}}, Wanted.OBJECT),
        ({"items": {"allOf": {}}}, Wanted.LIST),
        ({"items": {"definitions": 1}}, Wanted.OBJECT),
        ({"items": [5]}, Wanted.OBJECT),
        ({"dependencies": {"a": [5]}}, Wanted.STRING),
    ],
)
def test_a_wrong_type_inside_is_a_defect_too(schema: Any, wanted: Wanted) -> None:
    assert [defect.wanted for defect in defects_of(schema)] == [wanted]


def test_integral_floats_are_integers_outside_of_documents_only() -> None:
    assert defects_of({"maxLength": 3.0}) == []
    assert [defect.path for defect in defects_of({"items": {"maxLength": 3.5e18}})] == [("items", "maxLength")]


def test_all_of_them_are_found() -> None:
    inner = {"items": {"description": 5}, "additionalProperties": {"type": 5}}
    assert [defect.path for defect in defects_of({"items": {"$ref": 5, **inner}})] == [
        ("items", "$ref"),
        ("items", "items", "description"),
        ("items", "additionalProperties", "type"),
    ]

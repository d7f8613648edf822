"""Values held against schemas."""

import pytest

from rukpak_py.formats.crds.values import unfit
from rukpak_py.formats.json_fields import Json


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "required": [{}, 5], "properties": {"a": 5}},
        {"type": [], "enum": {}, "properties": []},
        {"type": "object", "items": [], "additionalProperties": 5, "pattern": 5},
    ],
)
def test_damaged_schema_finds_no_problem(schema: Json) -> None:
    assert unfit({"a": 1}, schema, "spec") == ""


@pytest.mark.parametrize(
    ("given", "wrong"),
    [({"a": "1"}, ""), ({"a": "1", "b": 1}, "spec.b must be of type string"), ({"own": 1, "a": "1"}, "")],
)
def test_values_of_other_keys_fit_their_schema(given: Json, wrong: str) -> None:
    schema = {"type": "object", "properties": {"own": {"type": "integer"}}, "additionalProperties": {"type": "string"}}
    assert unfit(given, schema, "spec") == wrong

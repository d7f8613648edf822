"""Changes of a schema, and the verdict that the objects may come to. What no object suffers from is not named."""

import orjson
import pytest
from hypothesis import assume, given, settings, strategies

from rukpak_py.apply.crd_safety.judging import judge
from rukpak_py.apply.crd_safety.schema_changes import schema_changes
from rukpak_py.apply.crd_safety.upgrade import Comparison
from rukpak_py.apply.crd_safety.validation import is_valid
from rukpak_py.apply.crd_safety.values import drop_nulls, prune, set_defaults
from rukpak_py.apply.crd_safety.verdicts import Rule, Verdict
from tests.unit.apply.crd_safety.schemas import (
    ANYTHING,
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    Json,
    an_object,
    of_spec,
    upgrades,
    values_of,
)

LIST = {"type": "array", "items": TEXT}
SET = {**LIST, "x-kubernetes-list-type": "set"}
BY_NAME = {
    "type": "array",
    "items": {"type": "object", "properties": {"name": TEXT}, "required": ["name"]},
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
}
MAP = {"type": "object", "additionalProperties": TEXT}
MODE = {"type": "object", "properties": {"mode": TEXT}}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (TEXT, {**TEXT, "description": "text", "title": "t", "example": "a"}),
        ({**TEXT, "enum": ["a"]}, {**TEXT, "enum": ["b", "a"]}),
        ({**TEXT, "maxLength": 3}, {**TEXT, "maxLength": 4}),
        ({**WHOLE, "minimum": 3}, {**WHOLE, "minimum": 2}),
        ({**WHOLE, "multipleOf": 4}, {**WHOLE, "multipleOf": 2}),
        ({**TEXT, "pattern": "a"}, TEXT),
        (WHOLE, NUMBER),
        (WHOLE, {"x-kubernetes-int-or-string": True}),
        (TEXT, {**TEXT, "nullable": True}),
        (MODE, {"type": "object", "properties": {"mode": TEXT, "more": TEXT}}),
        (SET, LIST),
        ({**MODE, "required": ["mode"]}, MODE),
        ({**MODE, "oneOf": [{"required": ["mode"]}]}, MODE),
        ({**WHOLE, "x-kubernetes-validations": [{"rule": "self > 1"}]}, WHOLE),
    ],
)
def test_a_change_that_no_object_suffers_from_is_not_named(old: Json, new: Json) -> None:
    assert list(schema_changes(of_spec({"value": old}), of_spec({"value": new}))) == []


@pytest.mark.parametrize(
    ("old", "new", "rule", "verdict", "text"),
    [
        (TEXT, WHOLE, Rule.TYPE, Verdict.BREAKS, "the type changed from string to integer"),
        (NUMBER, WHOLE, Rule.VALUE, Verdict.WARN, "the type changed from number to integer"),
        ({**TEXT, "enum": ["a", "b"]}, {**TEXT, "enum": ["a"]}, Rule.VALUE, Verdict.WARN, 'removed from the enum: "b"'),
        (TEXT, {**TEXT, "enum": ["a"]}, Rule.VALUE, Verdict.WARN, "an enum was added"),
        (TEXT, {**TEXT, "maxLength": 4}, Rule.VALUE, Verdict.WARN, "maxLength 4 was added"),
        ({**WHOLE, "maximum": 5}, {**WHOLE, "maximum": 4}, Rule.VALUE, Verdict.WARN, "maximum 4 was changed from 5"),
        ({**WHOLE, "minimum": 1}, {**WHOLE, "minimum": 2}, Rule.VALUE, Verdict.WARN, "minimum 2 was changed from 1"),
        (LIST, {**LIST, "maxItems": 2}, Rule.SIZE, Verdict.WARN, "maxItems 2 was added"),
        (MODE, {**MODE, "maxProperties": 2}, Rule.SIZE, Verdict.BREAKS, "maxProperties 2 was added"),
        (MAP, {**MAP, "maxProperties": 2}, Rule.SIZE, Verdict.WARN, "maxProperties 2 was added"),
        (LIST, SET, Rule.DUPLICATES, Verdict.WARN, "the list became one of type set, without duplicates"),
        (MODE, {**MODE, "not": {"required": ["mode"]}}, Rule.COMPOSITION, Verdict.BREAKS, "not was changed"),
        (TEXT, {**TEXT, "anyOf": [{"minLength": 1}]}, Rule.COMPOSITION, Verdict.WARN, "anyOf was changed"),
        ({**TEXT, "nullable": True}, TEXT, Rule.NULL, Verdict.LOSES, "nullable was removed: nulls are dropped"),
        (ANYTHING, MODE, Rule.FIELD, Verdict.LOSES, "unknown fields are not preserved any more"),
        (TEXT, {**TEXT, "default": "a"}, Rule.DEFAULT, Verdict.NOTE, "a default was added"),
        (TEXT, {**TEXT, "format": "isbn"}, Rule.CEL, Verdict.NOTE, "the format 'isbn' is not checked"),
    ],
)
def test_a_change_of_a_value_has_its_verdict(old: Json, new: Json, rule: Rule, verdict: Verdict, text: str) -> None:
    (change, *_) = schema_changes(of_spec({"value": old}), of_spec({"value": new}))
    assert (change.rule, change.verdict, change.text, change.path) == (rule, verdict, text, "spec.value")


@pytest.mark.parametrize(
    ("old", "new", "path", "rule"),
    [
        (MODE, {"type": "object", "properties": {}}, "spec.value.mode", Rule.FIELD),
        (MODE, {**MODE, "required": ["mode"]}, "spec.value.mode", Rule.REQUIRED),
        (MAP, {"type": "object", "additionalProperties": FLAG}, "spec.value.*", Rule.TYPE),
        (LIST, {"type": "array", "items": WHOLE}, "spec.value[]", Rule.TYPE),
        ({"type": "array", "items": MODE}, BY_NAME, "spec.value", Rule.MAP_KEYS),
    ],
)
def test_a_change_names_the_field(old: Json, new: Json, path: str, rule: Rule) -> None:
    found = schema_changes(of_spec({"value": old}), of_spec({"value": new}))
    assert (path, rule) in {(change.path, change.rule) for change in found}


def test_rules_at_the_root_break_the_whole_object() -> None:
    old, new = of_spec({}), of_spec({})
    object.__setattr__(new, "required", ("spec",))
    (change,) = schema_changes(old, new)
    assert (change.path, change.verdict) == ("spec", Verdict.BREAKS)


@pytest.mark.parametrize(
    "odd",
    [
        {"maximum": [1]},
        {"maximum": True},
        {"minimum": "5"},
        {"pattern": 1},
        {"format": ["date"]},
        {"maxItems": {}},
        {"x-kubernetes-validations": 5},
        {"enum": 1, "required": "a", "properties": [], "allOf": {}},
    ],
)
def test_limit_of_a_wrong_type_counts_as_absent(odd: Json) -> None:
    plain = {"type": "integer", "minimum": 1}
    assert list(schema_changes(of_spec({"value": plain}), of_spec({"value": plain | odd}))) == []


@settings(max_examples=150, deadline=None)
@given(upgrades(), strategies.data())
def test_an_object_of_the_old_schema_has_no_offence_that_no_change_announces(
    upgrade: tuple[Json, Json], data: strategies.DataObject
) -> None:
    """An object that the old schema takes, as its server stores it, is taken by the new one."""
    before, after = (of_spec({"value": one}) for one in upgrade)
    stored = an_object({"value": data.draw(values_of(upgrade[0]))})
    list(prune(stored, before))
    list(drop_nulls(stored, before))
    set_defaults(stored, before)
    assume(is_valid(stored, before))
    changes = list(schema_changes(before, after))
    found = judge(orjson.dumps(stored), Comparison(version="v1", old=before, new=after))
    assert max([Verdict.NOTE, *(one.verdict for one in found)]) <= max(
        [Verdict.NOTE, *(one.verdict for one in changes)]
    )
    if not any(change.needs_objects for change in changes):
        assert found == []

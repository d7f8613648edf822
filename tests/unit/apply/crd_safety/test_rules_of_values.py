"""Without the rules of values, what is found of an object depends on its fields and their types alone."""

import json

import pytest

from rukpak_py.apply.crd_safety.definition import read_definition
from rukpak_py.apply.crd_safety.judging import judge
from rukpak_py.apply.crd_safety.upgrade import Comparison, CrdUpgrade, compare_definitions
from rukpak_py.apply.crd_safety.values import ExcessiveDefaultsError
from rukpak_py.apply.crd_safety.verdicts import Rule
from tests.manifests import crd
from tests.unit.apply.crd_safety.schemas import TEXT, WHOLE, Json, an_object, of_spec

FIELDS: Json = {"a": TEXT, "b": TEXT, "list": {"type": "array", "items": TEXT}}


def upgrade(properties: Json, **more: Json) -> CrdUpgrade:
    def definition(fields: Json, **rules: Json) -> Json:
        spec = {"type": "object", "properties": fields, **rules}
        return crd("a.test", schema={"type": "object", "properties": {"spec": spec}})

    return compare_definitions(read_definition(definition(FIELDS)), read_definition(definition(properties, **more)))


OF_VALUES: dict[str, Json] = {
    "enum": {**FIELDS, "a": TEXT | {"enum": ["x"]}},
    "pattern": {**FIELDS, "a": TEXT | {"pattern": "^x"}},
    "length": {**FIELDS, "a": TEXT | {"maxLength": 1}},
    "composition": {**FIELDS, "a": TEXT | {"not": {"enum": ["y"]}}},
    "size": {**FIELDS, "list": FIELDS["list"] | {"maxItems": 1}},
    "duplicates": {**FIELDS, "list": FIELDS["list"] | {"x-kubernetes-list-type": "set"}},
}


@pytest.mark.parametrize("properties", OF_VALUES.values(), ids=OF_VALUES.keys())
def test_rule_of_values_is_named_as_not_checked_and_no_object_is_read(properties: Json) -> None:
    whole = upgrade(properties)
    assert whole.lists
    reduced = whole.without_values()
    assert not reduced.lists
    assert [(one.rule, one.text.endswith("; not checked")) for one in reduced.changes] == [(Rule.CEL, True)]


@pytest.mark.parametrize("rules", OF_VALUES.values(), ids=OF_VALUES.keys())
def test_objects_are_judged_by_the_other_rules_alone(rules: Json) -> None:
    (comparison,) = upgrade({**rules, "b": WHOLE}).without_values().lists["v1"]
    for value in ("x", "y"):
        found = judge(json.dumps(an_object({"a": value, "b": "1", "list": [value, value]})).encode(), comparison)
        assert [(one.rule, one.path) for one in found] == [(Rule.TYPE, "spec.b")]


def test_two_equal_keys_do_not_hide_that_another_item_has_none() -> None:
    """A default for a key could be compared with the keys of others otherwise."""
    items = {"type": "object", "properties": {"k": TEXT | {"default": "x"}, "n": TEXT}}
    old = {"type": "array", "items": {"type": "object", "properties": {"k": TEXT, "n": TEXT}}}
    new = {"type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "n"]}
    comparison = Comparison(version="v1", old=of_spec({"l": old}), new=of_spec({"l": new})).without_values()
    found = [
        judge(json.dumps(an_object({"l": [{"k": key, "n": "1"}, {"n": "1"}, {"k": "z"}]})).encode(), comparison)
        for key in ("x", "y")
    ]
    assert found[0] == found[1]
    assert [one.rule for one in found[0]] == [Rule.MAP_KEYS]


def test_defaults_of_defaults_are_bounded() -> None:
    many = {f"f{number}": TEXT | {"default": "x"} for number in range(1000)}
    items = {"type": "object", "properties": many}
    schema = of_spec({"l": {"type": "array", "default": [{} for _ in range(2000)], "items": items}})
    comparison = Comparison(version="v1", old=of_spec({}), new=schema)
    with pytest.raises(ExcessiveDefaultsError, match="more than 1000000 values"):
        judge(json.dumps(an_object({})).encode(), comparison)


def test_changes_of_fields_stay_as_they_are() -> None:
    whole = upgrade({"a": WHOLE, "list": FIELDS["list"]})
    assert whole.without_values().changes == whole.changes
    assert {one.rule for one in whole.changes} == {Rule.TYPE, Rule.FIELD}

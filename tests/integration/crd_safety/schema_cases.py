"""Changes of a schema, each with an object that is stored before it, and the verdict.

`edit`: a merge patch of the spec that changes a sibling of what the change is about: not in the same node, unless the
node is an object with named fields.
"""

from dataclasses import dataclass, field
from typing import Any

from rukpak_py.apply.crd_safety.verdicts import Verdict

Json = dict[str, Any]
NOTE, WARN, BREAKS, LOSES = Verdict.NOTE, Verdict.WARN, Verdict.BREAKS, Verdict.LOSES
TEXT, NUMBER, WHOLE, FLAG = ({"type": one} for one in ("string", "number", "integer", "boolean"))
ANY = {"x-kubernetes-preserve-unknown-fields": True}
ANY_OBJECT = {"type": "object", **ANY}
YES = True
INT_OR_STRING = {"x-kubernetes-int-or-string": True}


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    old: Json = field(default_factory=dict)  # properties of the spec
    new: Json = field(default_factory=dict)
    stored: Json = field(default_factory=dict)  # fields of the spec
    verdict: Verdict
    edit: Json = field(default_factory=lambda: {"sibling": "edited"})
    new_spec: Json = field(default_factory=dict)  # beside the properties
    new_root: Json = field(default_factory=dict)
    status: tuple[Json, Json, Json] | None = None  # old and new schema, and the stored status
    status_edit: Json = field(default_factory=dict)


def an_object(properties: Json, **more: Any) -> Json:
    return {"type": "object", "properties": {**properties, "sibling": TEXT}, **more}


def a_list(items: Json, **more: Any) -> Json:
    return {"type": "array", "items": items, **more}


def a_map(values: Json, **more: Any) -> Json:
    return {"type": "object", "additionalProperties": values, **more}


def map_list(items: Json, *keys: str) -> Json:
    more = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [*keys]}
    return a_list({"type": "object", "required": [*keys], "properties": dict.fromkeys(keys, TEXT) | items}, **more)


def of_field(name: str, old: Json, new: Json, stored: Any, verdict: Verdict) -> Case:
    """A change of one value of the spec."""
    return Case(name=name, old={"value": old}, new={"value": new}, stored={"value": stored}, verdict=verdict)


def in_object(name: str, old: Json, new: Json, stored: Any, verdict: Verdict) -> Case:
    """A change of a nested object; the edit is of a sibling in it."""
    edit = {"value": {"sibling": "edited"}}
    return Case(name=name, old={"value": old}, new={"value": new}, stored={"value": stored}, verdict=verdict, edit=edit)


def rule(text: str) -> Json:
    return {"x-kubernetes-validations": [{"rule": text, "message": "no"}]}


MODE = an_object({"mode": TEXT})
SET = {"x-kubernetes-list-type": "set"}
PORTS_EDIT = {"ports": [{"name": "a", "size": 9, "sibling": "edited"}]}
ITEM = an_object({"name": TEXT, "size": WHOLE})

CASES = (
    # nothing to suffer from
    of_field("description", TEXT, {**TEXT, "description": "text"}, "a", NOTE),
    of_field("enum removed", {**TEXT, "enum": ["a"]}, TEXT, "a", NOTE),
    of_field("enum extended", {**TEXT, "enum": ["a"]}, {**TEXT, "enum": ["a", "b"]}, "a", NOTE),
    of_field("maximum raised", {**WHOLE, "maximum": 5}, {**WHOLE, "maximum": 9}, 5, NOTE),
    of_field("maximum lowered, the value fits", {**WHOLE, "maximum": 9}, {**WHOLE, "maximum": 5}, 5, NOTE),
    of_field("integer to number", WHOLE, NUMBER, 1, NOTE),
    of_field("integer to int-or-string", WHOLE, INT_OR_STRING, 1, NOTE),
    of_field("string to int-or-string", TEXT, INT_OR_STRING, "a", NOTE),
    of_field("nullable added", TEXT, {**TEXT, "nullable": True}, "a", NOTE),
    Case(name="optional field added", new={"more": TEXT}, verdict=NOTE),
    Case(name="field with a default added", new={"more": {**TEXT, "default": "a"}}, verdict=NOTE),
    in_object("required removed", an_object({"mode": TEXT}, required=["mode"]), MODE, {"mode": "a"}, NOTE),
    in_object(
        "required, and the field is there", MODE, an_object({"mode": TEXT}, required=["mode"]), {"mode": "a"}, NOTE
    ),
    in_object(
        "required with a default",
        MODE,
        an_object({"mode": {**TEXT, "default": "a"}}, required=["mode"]),
        {"sibling": "a"},
        NOTE,
    ),
    Case(name="field removed that no object has", old={"gone": TEXT}, verdict=NOTE),
    of_field("properties to preserve-unknown", MODE, ANY_OBJECT, {"mode": "a"}, NOTE),
    of_field("map-list to atomic list", map_list({}, "name"), a_list(ITEM), [{"name": "a"}], NOTE),
    of_field("set without duplicates", a_list(TEXT), a_list(TEXT, **SET), ["a", "b"], NOTE),
    of_field("maxItems, the list fits", a_list(TEXT), a_list(TEXT, maxItems=2), ["a", "b"], NOTE),
    # values
    of_field("enum value removed", {**TEXT, "enum": ["a", "b"]}, {**TEXT, "enum": ["b"]}, "a", WARN),
    of_field("enum added", TEXT, {**TEXT, "enum": ["b"]}, "a", WARN),
    of_field("enum of integers added", WHOLE, {**WHOLE, "enum": [2, 3]}, 1, WARN),
    of_field("maximum added", WHOLE, {**WHOLE, "maximum": 5}, 7, WARN),
    of_field("maximum lowered", {**WHOLE, "maximum": 9}, {**WHOLE, "maximum": 5}, 7, WARN),
    of_field("maximum excluded", {**WHOLE, "maximum": 7}, {**WHOLE, "maximum": 7, "exclusiveMaximum": True}, 7, WARN),
    of_field("minimum added", NUMBER, {**NUMBER, "minimum": 2.5}, 1.5, WARN),
    of_field("minimum excluded", WHOLE, {**WHOLE, "minimum": 7, "exclusiveMinimum": True}, 7, WARN),
    of_field("multipleOf added", WHOLE, {**WHOLE, "multipleOf": 5}, 7, WARN),
    of_field("minLength added", TEXT, {**TEXT, "minLength": 3}, "ab", WARN),
    of_field("maxLength added", TEXT, {**TEXT, "maxLength": 3}, "abcd", WARN),
    of_field("maxLength counts characters", TEXT, {**TEXT, "maxLength": 3}, "äöü", NOTE),
    of_field("pattern added", TEXT, {**TEXT, "pattern": "^[a-z]+$"}, "A1", WARN),
    of_field("pattern matches in the middle", TEXT, {**TEXT, "pattern": "[0-9]"}, "a1b", NOTE),
    of_field("pattern with a class of Unicode", TEXT, {**TEXT, "pattern": r"^\p{Lu}+$"}, "ÄÖ", NOTE),
    of_field("pattern with a flag", TEXT, {**TEXT, "pattern": "(?i)^abc$"}, "ABC", NOTE),
    of_field("format ipv4 added", TEXT, {**TEXT, "format": "ipv4"}, "1.2.3", WARN),
    of_field("format ipv4 fits", TEXT, {**TEXT, "format": "ipv4"}, "1.2.3.4", NOTE),
    of_field("format date-time added", TEXT, {**TEXT, "format": "date-time"}, "yesterday", WARN),
    of_field("format date-time fits", TEXT, {**TEXT, "format": "date-time"}, "2024-05-06T07:08:09Z", NOTE),
    of_field("format date added", TEXT, {**TEXT, "format": "date"}, "2024-13-01", WARN),
    of_field("format uuid added", TEXT, {**TEXT, "format": "uuid"}, "abc", WARN),
    of_field("format byte added", TEXT, {**TEXT, "format": "byte"}, "a", WARN),
    of_field("format cidr added", TEXT, {**TEXT, "format": "cidr"}, "10.0.0.0", WARN),
    of_field("format duration added", TEXT, {**TEXT, "format": "duration"}, "soon", WARN),
    of_field("format duration fits", TEXT, {**TEXT, "format": "duration"}, "1h30m", NOTE),
    of_field("format hostname added", TEXT, {**TEXT, "format": "hostname"}, "a_b!", WARN),
    of_field("format int32 added", WHOLE, {**WHOLE, "format": "int32"}, 3_000_000_000, NOTE),
    in_object("enum in a nested object", MODE, an_object({"mode": {**TEXT, "enum": ["b"]}}), {"mode": "a"}, WARN),
    of_field("enum of the values of a map", a_map(TEXT), a_map({**TEXT, "enum": ["b"]}), {"k": "a"}, WARN),
    of_field("enum of the items of an atomic list", a_list(TEXT), a_list({**TEXT, "enum": ["b"]}), ["a"], WARN),
    of_field(
        "maximum in an item of an atomic list",
        a_list(ITEM),
        a_list(an_object({"name": TEXT, "size": {**WHOLE, "maximum": 5}})),
        [{"name": "a", "size": 9}],
        WARN,
    ),
    Case(
        name="maximum in an item of a map-list",
        old={"ports": map_list({"size": WHOLE, "sibling": TEXT}, "name")},
        new={"ports": map_list({"size": {**WHOLE, "maximum": 5}, "sibling": TEXT}, "name")},
        stored={"ports": [{"name": "a", "size": 9}]},
        edit=PORTS_EDIT,
        verdict=WARN,
    ),
    # lists and maps
    of_field("maxItems added", a_list(TEXT), a_list(TEXT, maxItems=1), ["a", "b"], WARN),
    of_field("minItems added", a_list(TEXT), a_list(TEXT, minItems=3), ["a", "b"], WARN),
    of_field("maxProperties of a map", a_map(TEXT), a_map(TEXT, maxProperties=1), {"a": "1", "b": "2"}, WARN),
    of_field("minProperties of a map", a_map(TEXT), a_map(TEXT, minProperties=3), {"a": "1"}, WARN),
    in_object(
        "maxProperties of an object",
        MODE,
        an_object({"mode": TEXT}, maxProperties=1),
        {"mode": "a", "sibling": "b"},
        BREAKS,
    ),
    of_field("set with duplicates", a_list(TEXT), a_list(TEXT, **SET), ["a", "a"], WARN),
    of_field(
        "map-list with duplicates",
        a_list(ITEM),
        map_list({"size": WHOLE}, "name"),
        [{"name": "a"}, {"name": "a"}],
        WARN,
    ),
    of_field("map-list without a key", a_list(ITEM), map_list({"size": WHOLE}, "name"), [{"size": 1}], BREAKS),
    of_field(
        "another key of a map-list",
        map_list({"size": TEXT}, "name"),
        map_list({"name": TEXT}, "size"),
        [{"name": "a"}],
        BREAKS,
    ),
    # required, composition
    in_object(
        "required in a nested object", MODE, an_object({"mode": TEXT}, required=["mode"]), {"sibling": "a"}, BREAKS
    ),
    Case(name="required in the spec", new={"mode": TEXT}, new_spec={"required": ["mode"]}, verdict=BREAKS),
    Case(name="required at the root", new_root={"required": ["more"], "properties": {"more": TEXT}}, verdict=BREAKS),
    of_field(
        "required in an item of an atomic list",
        a_list(ITEM),
        a_list({**ITEM, "required": ["size"]}),
        [{"name": "a"}],
        WARN,
    ),
    Case(
        name="required in an item of a map-list",
        old={"ports": map_list({"size": WHOLE, "sibling": TEXT}, "name")},
        new={
            "ports": {
                **map_list({"size": WHOLE, "sibling": TEXT}, "name", "size"),
                "x-kubernetes-list-map-keys": ["name"],
            }
        },
        stored={"ports": [{"name": "a"}]},
        edit={"ports": [{"name": "a", "sibling": "edited"}]},
        verdict=BREAKS,
    ),
    Case(
        name="required in a value of a map",
        old={"value": a_map(MODE)},
        new={"value": a_map(an_object({"mode": TEXT}, required=["mode"]))},
        stored={"value": {"k": {"sibling": "a"}}},
        edit={"value": {"k": {"sibling": "edited"}}},
        verdict=BREAKS,
    ),
    in_object(
        "oneOf added",
        an_object({"a": TEXT, "b": TEXT}),
        an_object({"a": TEXT, "b": TEXT}, oneOf=[{"required": ["a"]}, {"required": ["b"]}]),
        {"a": "1", "b": "2"},
        BREAKS,
    ),
    in_object(
        "oneOf that fits",
        an_object({"a": TEXT, "b": TEXT}),
        an_object({"a": TEXT, "b": TEXT}, oneOf=[{"required": ["a"]}, {"required": ["b"]}]),
        {"a": "1"},
        NOTE,
    ),
    in_object(
        "anyOf added",
        an_object({"a": TEXT, "b": TEXT}),
        an_object({"a": TEXT, "b": TEXT}, anyOf=[{"required": ["a"]}, {"required": ["b"]}]),
        {"sibling": "1"},
        BREAKS,
    ),
    in_object(
        "allOf added",
        MODE,
        an_object({"mode": TEXT}, allOf=[{"properties": {"mode": {"minLength": 3}}}, {"required": ["mode"]}]),
        {"sibling": "1"},
        BREAKS,
    ),
    in_object("not added", MODE, an_object({"mode": TEXT}, **{"not": {"required": ["mode"]}}), {"mode": "a"}, BREAKS),
    of_field("anyOf of a value", TEXT, {**TEXT, "anyOf": [{"minLength": 3}, {"enum": ["b"]}]}, "a", WARN),
    of_field("not of a value", TEXT, {**TEXT, "not": {"enum": ["a"]}}, "a", WARN),
    Case(
        name="oneOf at the root",
        new_root={
            "oneOf": [{"required": ["more"]}, {"required": ["less"]}],
            "properties": {"more": TEXT, "less": TEXT},
        },
        verdict=BREAKS,
    ),
    # types
    of_field("integer to string", WHOLE, TEXT, 1, BREAKS),
    of_field("string to integer", TEXT, WHOLE, "1", BREAKS),
    of_field("number to integer", NUMBER, WHOLE, 1.5, WARN),
    of_field("number to integer, the value fits", NUMBER, WHOLE, 1, NOTE),
    of_field("int-or-string to integer", INT_OR_STRING, WHOLE, "10%", BREAKS),
    of_field("int-or-string to integer, the value fits", INT_OR_STRING, WHOLE, 10, NOTE),
    of_field("string to object", TEXT, MODE, "a", BREAKS),
    of_field("object to string", MODE, TEXT, {"mode": "a"}, LOSES),
    of_field("object to list", MODE, a_list(TEXT), {"mode": "a"}, LOSES),
    of_field("list to object", a_list(TEXT), MODE, ["a"], BREAKS),
    of_field("boolean to string", FLAG, TEXT, YES, BREAKS),
    of_field("type of the items of a list", a_list(WHOLE), a_list(TEXT), [1], BREAKS),
    # losses
    Case(name="field removed", old={"gone": TEXT}, stored={"gone": "a"}, verdict=LOSES),
    in_object("nested field removed", an_object({"gone": TEXT}), an_object({}), {"gone": "a"}, LOSES),
    of_field(
        "field of an item removed", a_list(ITEM), a_list(an_object({"name": TEXT})), [{"name": "a", "size": 1}], LOSES
    ),
    of_field("preserve-unknown to properties", ANY_OBJECT, MODE, {"gone": "a"}, LOSES),
    of_field("map to properties", a_map(TEXT), MODE, {"gone": "a"}, LOSES),
    of_field("map to properties, all are named", a_map(TEXT), MODE, {"mode": "a"}, NOTE),
    of_field("nullable removed", {**TEXT, "nullable": True}, TEXT, None, LOSES),
    of_field("nullable removed, with a default", {**TEXT, "nullable": True}, {**TEXT, "default": "a"}, None, LOSES),
    of_field("nullable of items removed", a_list({**TEXT, "nullable": True}), a_list(TEXT), [None], WARN),
    of_field("field moved", an_object({"a": TEXT}), an_object({"b": TEXT}), {"a": "1"}, LOSES),
    # status
    Case(
        name="required in the status",
        status=(an_object({"phase": TEXT}), an_object({"phase": TEXT}, required=["phase"]), {"sibling": "a"}),
        status_edit={"sibling": "edited"},
        verdict=BREAKS,
    ),
    Case(
        name="field of the status removed",
        status=(an_object({"gone": TEXT}), an_object({}), {"gone": "a"}),
        status_edit={"sibling": "edited"},
        verdict=LOSES,
    ),
    # embedded resources
    of_field(
        "embedded resource",
        ANY_OBJECT,
        {**ANY_OBJECT, "x-kubernetes-embedded-resource": True},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {}},
        NOTE,
    ),
)

BATCH = 10
BATCHES = [CASES[start : start + BATCH] for start in range(0, len(CASES), BATCH)]  # those of one run at a time

# What only the server can tell: an expression of CEL. The verdict of the schema is `NOTE`, and names the rule.
NOT_CHECKED = (
    of_field("CEL of a value", WHOLE, {**WHOLE, **rule("self < 5")}, 7, NOTE),
    in_object("CEL of an object", MODE, {**MODE, **rule("has(self.mode)")}, {"sibling": "a"}, NOTE),
)

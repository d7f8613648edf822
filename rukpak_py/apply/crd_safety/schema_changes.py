"""Compares two schemas of a version: what could become of objects, without a look at any.

A change that no object can suffer from is left out: an optional field, a wider limit, a description.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from rukpak_py.apply.crd_safety import formats
from rukpak_py.apply.crd_safety.schema import ABSENT, COMPOSITIONS, SIZES, Schema, comparable
from rukpak_py.apply.crd_safety.verdicts import ANY_KEY, Node, Rule, Verdict, below, verdict_of
from rukpak_py.core.text import named

NAMED_VALUES = 5  # values that a text names
_LOWER: Final = ("minimum", "minLength", "minItems", "minProperties")
_UPPER: Final = ("maximum", "maxLength", "maxItems", "maxProperties")
_ANY: Final = frozenset({"object", "array", "string", "boolean", "integer", "number"})


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemaChange:
    """`path`: the field; empty: the object as a whole, or the CRD."""

    rule: Rule
    path: str
    text: str
    verdict: Verdict
    version: str = ""

    @property
    def needs_objects(self) -> bool:
        """Whether only the objects say what becomes of them."""
        return self.rule not in {Rule.SCOPE, Rule.STORED_VERSION, Rule.VERSION, Rule.CEL}

    @property
    def consequence(self) -> str:
        """The result when the operator upgrades the CRD."""
        match self.verdict:
            case Verdict.NOTE:
                return "not checked" if self.rule is Rule.CEL else "allowed"
            case Verdict.WARN:
                return "allowed, with a warning where objects do not fit"
            case Verdict.BREAKS:
                return "refused where objects do not fit"
            case Verdict.LOSES:
                return "refused where objects lose values" if self.needs_objects else "refused"

    def __str__(self) -> str:
        about = f"{self.version}: {self.path}" if self.path else self.version
        return f"{about}: {self.text}" if about else self.text


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pair:
    """A node of both schemas. `is_field`: of an object, so that a null in it is dropped."""

    old: Schema
    new: Schema
    path: str = ""
    in_atomic: bool = False
    is_field: bool = True

    def change(self, rule: Rule, text: str, *, field: str = "") -> SchemaChange:
        node = Node(path=self.path, is_struct=self.new.is_struct, in_atomic=self.in_atomic)
        path = below(self.path, field) if field else self.path
        return SchemaChange(rule=rule, path=path, text=text, verdict=verdict_of(rule, node))

    def field(self, name: str, old: Schema, new: Schema) -> "_Pair":
        return _Pair(old=old, new=new, path=below(self.path, name), in_atomic=self.in_atomic)


def schema_changes(old: Schema, new: Schema) -> Iterator[SchemaChange]:
    return _changes(_Pair(old=old, new=new))


def _changes(pair: _Pair) -> Iterator[SchemaChange]:
    old, new = pair.old, pair.new
    if old == new:
        return
    lost = sorted(_types(old) - _types(new))
    if lost:
        rule = Rule.VALUE if lost == ["number"] else Rule.TYPE
        yield pair.change(rule, f"the type changed from {_type_text(old)} to {_type_text(new)}")
        if not {"array", "object"}.isdisjoint(lost):
            yield pair.change(Rule.FIELD, "what is in objects and lists is dropped with the change of the type")
        return
    yield from _of_nulls_and_defaults(pair)
    yield from _of_values(pair)
    yield from _of_lists(pair)
    yield from _of_rules(pair)
    yield from _of_fields(pair)


def _types(schema: Schema) -> frozenset[str]:
    if schema.int_or_string:
        return frozenset({"integer", "string"})
    if schema.type == "number":
        return frozenset({"integer", "number"})
    return frozenset({schema.type}) if schema.type else _ANY


def _type_text(schema: Schema) -> str:
    return "integer or string" if schema.int_or_string else schema.type or "any"


def _of_nulls_and_defaults(pair: _Pair) -> Iterator[SchemaChange]:
    old, new = pair.old, pair.new
    if old.nullable and not new.nullable:
        instead = "replaced by the default" if new.default is not ABSENT else "dropped"
        rule = Rule.NULL if pair.is_field else Rule.VALUE
        yield pair.change(rule, f"nullable was removed: nulls are {instead}" if pair.is_field else "null was removed")
    if comparable_default(old.default) != comparable_default(new.default):
        how = "added" if old.default is ABSENT else "removed" if new.default is ABSENT else "changed"
        yield pair.change(Rule.DEFAULT, f"a default was {how}")


def comparable_default(value: Any) -> bytes:
    return b"" if value is ABSENT else comparable(value)


def _of_values(pair: _Pair) -> Iterator[SchemaChange]:
    old, new = pair.old, pair.new
    if new.enum is not None:
        if old.enum is None:
            yield pair.change(Rule.VALUE, "an enum was added")
        elif gone := old.choices - new.choices:
            yield pair.change(
                Rule.VALUE, f"removed from the enum: {named((one.decode() for one in sorted(gone)), NAMED_VALUES)}"
            )
    for name, limit in new.limits.items():
        former = old.limits.get(name)
        if former == limit or (former is not None and _is_wider(name, former, limit)):
            continue
        if name == "format" and not formats.is_known(limit):
            yield pair.change(Rule.CEL, f"the format {limit!r} is not checked")
            continue
        what = "added" if former is None else f"changed from {former!r}"
        yield pair.change(Rule.SIZE if name in SIZES else Rule.VALUE, f"{name} {limit!r} was {what}")
    for name in ("exclusive_minimum", "exclusive_maximum"):
        limit = name.removeprefix("exclusive_")
        if getattr(new, name) and not getattr(old, name) and limit in new.limits:
            yield pair.change(Rule.VALUE, f"the {limit} itself is excluded")


def _is_wider(name: str, old: Any, new: Any) -> bool:
    if name in _LOWER:
        return bool(new <= old)
    if name in _UPPER:
        return bool(new >= old)
    if name == "multipleOf" and isinstance(old, int) and isinstance(new, int):
        return old % new == 0
    return False


def _of_lists(pair: _Pair) -> Iterator[SchemaChange]:
    old, new = pair.old, pair.new
    keys_changed = new.list_type == "map" and set(new.map_keys) != set(old.map_keys)
    if new.list_type != "atomic" and (new.list_type != old.list_type or keys_changed):
        yield pair.change(Rule.DUPLICATES, f"the list became one of type {new.list_type}, without duplicates")
    if new.list_type == "map" and (gained := set(new.map_keys) - set(old.map_keys)):
        yield pair.change(
            Rule.MAP_KEYS, f"items need the {'key' if len(gained) == 1 else 'keys'} {named(sorted(gained))}"
        )
    if new.items is not None and old.items is None:
        if "array" in _types(old):
            yield pair.change(Rule.TYPE, "items got a schema")
    elif old.items is not None and new.items is None:
        yield pair.change(Rule.FIELD, "items lost their schema")
    elif old.items is not None and new.items is not None:
        in_atomic = pair.in_atomic or new.list_type != "map"
        items = _Pair(old=old.items, new=new.items, path=f"{pair.path}[]", in_atomic=in_atomic, is_field=False)
        yield from _changes(items)


def _of_rules(pair: _Pair) -> Iterator[SchemaChange]:
    old, new = pair.old, pair.new
    for name in COMPOSITIONS:
        parts = new.compositions.get(name)
        if parts and parts != old.compositions.get(name):
            yield pair.change(Rule.COMPOSITION, f"{name} was changed")
    if new.negated is not None and new.negated != old.negated:
        yield pair.change(Rule.COMPOSITION, "not was changed")
    if set(new.rules) - set(old.rules):
        yield pair.change(Rule.CEL, "x-kubernetes-validations were added or changed; CEL rules are not checked")


def _of_fields(pair: _Pair) -> Iterator[SchemaChange]:
    old, new = pair.old, pair.new
    if old.preserves and not new.preserves:
        yield pair.change(Rule.FIELD, "unknown fields are not preserved any more")
    if new.embedded and not old.embedded:
        yield pair.change(Rule.REQUIRED, "the field became an embedded resource, with apiVersion and kind")
    for name in new.required:
        if name not in old.required and not _is_filled_in(new, name):
            yield pair.change(Rule.REQUIRED, "the field became required", field=name)
    for name, former in old.properties.items():
        if (now := new.of_field(name)) is not None:
            yield from _changes(pair.field(name, former, now))
        elif not new.preserves:
            yield pair.change(Rule.FIELD, "the field was removed", field=name)
    for name in new.properties.keys() - old.properties.keys():
        yield from _of_new_field(pair, name, new.properties[name])
    yield from _of_other_keys(pair)


def _is_filled_in(schema: Schema, name: str) -> bool:
    return name in schema.properties and schema.properties[name].default is not ABSENT


def _of_new_field(pair: _Pair, name: str, new: Schema) -> Iterator[SchemaChange]:
    former = pair.old.of_field(name)
    if former is not None:
        yield from _changes(pair.field(name, former, new))
    elif pair.old.preserves or pair.old.additional is True:
        yield pair.change(Rule.FIELD, "the field got a schema, which its values may not fit", field=name)
    elif new.default is not ABSENT:
        yield pair.change(Rule.DEFAULT, "a field with a default was added", field=name)


def _of_other_keys(pair: _Pair) -> Iterator[SchemaChange]:
    """`additionalProperties`, of keys that neither schema names."""
    old, new = pair.old.additional, pair.new.additional
    if isinstance(old, Schema) and isinstance(new, Schema):
        yield from _changes(pair.field(ANY_KEY, old, new))
    elif isinstance(new, Schema) and (old is True or pair.old.preserves):
        yield pair.change(Rule.FIELD, "values got a schema, which they may not fit", field=ANY_KEY)
    elif old is not False and old != new and not pair.new.preserves:
        yield pair.change(Rule.FIELD, "additionalProperties were removed", field=ANY_KEY)

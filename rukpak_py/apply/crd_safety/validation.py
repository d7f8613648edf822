"""Validates an object as an API server does, without CEL: every error with the node that it freezes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rukpak_py.apply.crd_safety import formats, patterns
from rukpak_py.apply.crd_safety.schema import Json, Schema, comparable
from rukpak_py.apply.crd_safety.verdicts import ANY_KEY, Node, Rule, Verdict, below, verdict_of

NAMED_VALUES = 10  # values of an enum that a message names


@dataclass(frozen=True, kw_only=True, slots=True)
class Offence:
    """`path`: the field as a user reads it, with no indexes. Values are not told: they may be secret."""

    rule: Rule
    path: str
    text: str
    verdict: Verdict
    is_root: bool = False


class _Place(NamedTuple):
    """A value in its object; the text of its path is made for an offence only."""

    parent: "_Place | None" = None
    step: str = ""  # empty: an item of a list
    schema: Schema = Schema()
    in_atomic: bool = False

    @property
    def path(self) -> str:
        if self.parent is None:
            return ""
        return below(self.parent.path, self.step) if self.step else f"{self.parent.path}[]"

    def offence(self, rule: Rule, text: str, *, field: str = "") -> Offence:
        node = Node(path=self.path, is_struct=self.schema.is_struct, in_atomic=self.in_atomic)
        path = below(node.path, field) if field else node.path
        return Offence(rule=rule, path=path, text=text, verdict=verdict_of(rule, node), is_root=node.is_root)


def validate(value: Any, schema: Schema) -> Iterator[Offence]:
    return _errors(value, schema, _Place(schema=schema))


def is_valid(value: Any, schema: Schema) -> bool:
    return next(validate(value, schema), None) is None


def _errors(value: Any, schema: Schema, place: _Place) -> Iterator[Offence]:
    if not _has_type(value, schema):
        yield place.offence(_rule_of_type(value, schema), f"Invalid value: must be {_type_text(schema)}")
        return
    if schema.has_rules_of_values:
        yield from _errors_of_value(value, schema, place)
    if isinstance(value, dict):
        yield from _errors_in_object(value, schema, place)
    elif isinstance(value, list):
        yield from _errors_in_list(value, schema, place)


def _errors_in_object(value: Json, schema: Schema, place: _Place) -> Iterator[Offence]:
    if schema.embedded:
        missing = [name for name in ("apiVersion", "kind") if not value.get(name)]
        yield from (place.offence(Rule.REQUIRED, "Required value", field=name) for name in missing)
    for name, one in value.items():
        if (of_field := schema.of_field(name)) is not None:
            step = name if name in schema.properties else ANY_KEY
            yield from _errors(one, of_field, _Place(place, step, of_field, place.in_atomic))


def _errors_in_list(value: list[Any], schema: Schema, place: _Place) -> Iterator[Offence]:
    if schema.list_type != "atomic":
        yield from _errors_of_list(value, schema, place)
    if schema.items is not None:
        in_atomic = place.in_atomic or schema.list_type != "map"
        of_items = _Place(place, "", schema.items, in_atomic)
        for one in value:
            yield from _errors(one, schema.items, of_items)


def _has_type(value: Any, schema: Schema) -> bool:
    if value is None:
        return schema.nullable or not (schema.type or schema.int_or_string)
    if schema.int_or_string:
        return isinstance(value, str | int) and not isinstance(value, bool)
    match schema.type:
        case "":
            return True
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return _is_number(value) and value == int(value)
        case _:
            return _is_number(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _type_text(schema: Schema) -> str:
    return "integer or string" if schema.int_or_string else schema.type


def _rule_of_type(value: Any, schema: Schema) -> Rule:
    """Server-side apply reads null, and any number where there is to be one: they are values like others."""
    is_readable = value is None or (_is_number(value) and schema.type == "integer")
    return Rule.VALUE if is_readable else Rule.TYPE


def _errors_of_value(value: Any, schema: Schema, place: _Place) -> Iterator[Offence]:
    if schema.enum is not None and comparable(value) not in schema.choices:
        yield place.offence(Rule.VALUE, f"Unsupported value: supported values: {_choices(schema.enum)}")
    match value:
        case bool():
            pass
        case int() | float():
            yield from (place.offence(Rule.VALUE, text) for text in _errors_of_number(value, schema))
        case str():
            yield from (place.offence(Rule.VALUE, text) for text in _errors_of_string(value, schema))
        case list():
            yield from _errors_of_size(len(value), schema, place, "Items", "items")
        case dict():
            yield from _errors_of_size(len(value), schema, place, "Properties", "properties")
            for name in schema.required:
                if name not in value:
                    yield place.offence(Rule.REQUIRED, "Required value", field=name)
    yield from (place.offence(Rule.COMPOSITION, text) for text in _errors_of_compositions(value, schema))


def _choices(enum: Sequence[Any]) -> str:
    shown = [comparable(one).decode() for one in enum[:NAMED_VALUES]]
    return ", ".join([*shown, *([f"and {len(enum) - NAMED_VALUES} more"] if len(enum) > NAMED_VALUES else [])])


def _errors_of_number(value: float, schema: Schema) -> Iterator[str]:
    limits = schema.limits
    least, most, step = limits.get("minimum"), limits.get("maximum"), limits.get("multipleOf")
    if least is not None and (value < least or (schema.exclusive_minimum and value == least)):
        yield f"Invalid value: must be {'more than' if schema.exclusive_minimum else 'at least'} {least}"
    if most is not None and (value > most or (schema.exclusive_maximum and value == most)):
        yield f"Invalid value: must be {'less than' if schema.exclusive_maximum else 'at most'} {most}"
    if step and not _is_multiple(value, step):
        yield f"Invalid value: must be a multiple of {step}"


def _is_multiple(value: float, step: float) -> bool:
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    return (value / step).is_integer()


def _errors_of_string(value: str, schema: Schema) -> Iterator[str]:
    limits = schema.limits
    least, most, pattern = limits.get("minLength"), limits.get("maxLength"), limits.get("pattern")
    if least is not None and len(value) < least:
        yield f"Invalid value: must have at least {least} characters"
    if most is not None and len(value) > most:
        yield f"Too long: may not have more than {most} characters"
    if pattern is not None and not patterns.matches(pattern, value):
        yield f"Invalid value: must match {pattern!r}"
    if "format" in limits and not formats.fits(limits["format"], value):
        yield f"Invalid value: must be of format {limits['format']}"


def _errors_of_size(size: int, schema: Schema, place: _Place, suffix: str, noun: str) -> Iterator[Offence]:
    least, most = schema.limits.get(f"min{suffix}"), schema.limits.get(f"max{suffix}")
    if least is not None and size < least:
        yield place.offence(Rule.SIZE, f"Invalid value: must have at least {least} {noun}")
    if most is not None and size > most:
        yield place.offence(Rule.SIZE, f"Too many: must have at most {most} {noun}")


def _errors_of_compositions(value: Any, schema: Schema) -> Iterator[str]:
    for name, parts in schema.compositions.items():
        fitting = sum(is_valid(value, part) for part in parts)
        if name == "allOf" and fitting < len(parts):
            yield "must fit all schemas of allOf"
        elif name == "anyOf" and not fitting:
            yield "must fit at least one schema of anyOf"
        elif name == "oneOf" and fitting != 1:
            yield "must fit one and only one schema of oneOf"
    if schema.negated is not None and is_valid(value, schema.negated):
        yield "must not fit the schema of not"


def _errors_of_list(value: list[Any], schema: Schema, place: _Place) -> Iterator[Offence]:
    seen: set[bytes] = set()
    for one in value:
        identity: Any = one
        if schema.list_type == "map":
            if not isinstance(one, dict):
                continue  # the schema of the items says so
            for key in schema.map_keys:
                if key not in one:
                    yield place.offence(Rule.MAP_KEYS, f"Required value: the key {key} of an item")
            identity = [one.get(key) for key in schema.map_keys]
        encoded = comparable(identity)
        if encoded in seen:
            yield place.offence(Rule.DUPLICATES, f"Duplicate value in a list of type {schema.list_type}")
        seen.add(encoded)

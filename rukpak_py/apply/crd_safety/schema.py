"""A structural schema as a value: what an API server reads of the schema of one version of a CRD.

What no API server acts on (titles, descriptions, examples) is left out, so two schemas that are equal mean the same.
Schemas of `allOf`, `anyOf`, `oneOf` and `not` have the same form.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from rukpak_py.core.objects import canonical_json

Json = dict[str, Any]

COMPOSITIONS: Final = ("allOf", "anyOf", "oneOf")
LIMITS: Final = (  # of values; a larger `minimum`, or a smaller `maximum`, takes values away
    "minimum",
    "maximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
)
_TEXTS: Final = frozenset({"pattern", "format"})
SIZES: Final = ("minItems", "maxItems", "minProperties", "maxProperties")
METADATA: Final = frozenset({"apiVersion", "kind", "metadata"})  # of an object; no schema prunes them


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()  # no value; null is one


@dataclass(frozen=True, kw_only=True)
class Schema:
    """`additional`: of the keys that `properties` does not name; True: any value, which is kept as it is."""

    type: str = ""
    nullable: bool = False
    int_or_string: bool = False
    preserves: bool = False
    embedded: bool = False
    properties: Mapping[str, "Schema"] = field(default_factory=dict)
    additional: "Schema | bool" = False
    items: "Schema | None" = None
    required: tuple[str, ...] = ()
    default: Any = ABSENT
    list_type: str = "atomic"
    map_keys: tuple[str, ...] = ()
    enum: tuple[Any, ...] | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    limits: Mapping[str, Any] = field(default_factory=dict)  # `LIMITS` and `SIZES`
    compositions: Mapping[str, tuple["Schema", ...]] = field(default_factory=dict)
    negated: "Schema | None" = None
    rules: tuple[str, ...] = ()  # of CEL, as canonical JSON

    @cached_property
    def is_struct(self) -> bool:
        """An object of named fields, which are edited apart from one another."""
        return bool(self.properties) or self.preserves or self.embedded

    @cached_property
    def choices(self) -> frozenset[bytes]:
        """The values of the enum, comparable."""
        return frozenset(map(comparable, self.enum or ()))

    @cached_property
    def has_rules_of_values(self) -> bool:
        return bool(self.enum is not None or self.limits or self.compositions or self.negated or self.required)

    @cached_property
    def default_size(self) -> int:
        """Number of values in the default."""
        return _size(self.default)

    def without_values(self) -> "Schema":
        """The same without the rules that values decide. They cost the most, so none of them is tried and then left."""
        return replace(
            self,
            properties={name: one.without_values() for name, one in self.properties.items()},
            additional=self.additional.without_values() if isinstance(self.additional, Schema) else self.additional,
            items=self.items.without_values() if self.items is not None else None,
            enum=None,
            limits={},
            compositions={},
            negated=None,
        )

    def of_field(self, name: str) -> "Schema | None":
        """Schema of the value of a key; None: it has none."""
        found = self.properties.get(name)
        if found is None and isinstance(self.additional, Schema):
            return self.additional
        return found


def comparable(value: Any) -> bytes:
    """Equal for values that JSON Schema calls equal: 1 is 1.0."""
    return canonical_json(_plain(value))


def _size(value: Any) -> int:
    match value:
        case dict():
            return 1 + sum(map(_size, value.values()))
        case list():
            return 1 + sum(map(_size, value))
        case _:
            return 1


def _plain(value: Any) -> Any:
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {key: _plain(one) for key, one in value.items()}
        case list():
            return [_plain(one) for one in value]
        case _:
            return value


def read_schema(document: Any) -> Schema:
    """Read `openAPIV3Schema`. What has a wrong type counts as absent: no API server has taken it."""
    if not isinstance(document, dict):
        return Schema()
    items, negated, enum = document.get("items"), document.get("not"), document.get("enum")
    default, rules = document.get("default"), document.get("x-kubernetes-validations")
    return Schema(
        type=_text(document, "type"),
        nullable=document.get("nullable") is True,
        int_or_string=document.get("x-kubernetes-int-or-string") is True,
        preserves=document.get("x-kubernetes-preserve-unknown-fields") is True,
        embedded=document.get("x-kubernetes-embedded-resource") is True,
        properties={name: read_schema(one) for name, one in _mapping(document, "properties").items()},
        additional=_additional(document.get("additionalProperties")),
        items=read_schema(items) if isinstance(items, dict) else None,
        required=_texts(document, "required"),
        default=default if default is not None else ABSENT,
        list_type=_text(document, "x-kubernetes-list-type") or "atomic",
        map_keys=_texts(document, "x-kubernetes-list-map-keys"),
        enum=tuple(enum) if isinstance(enum, list) and enum else None,
        exclusive_minimum=document.get("exclusiveMinimum") is True,
        exclusive_maximum=document.get("exclusiveMaximum") is True,
        limits={name: document[name] for name in (*LIMITS, *SIZES) if _is_limit(name, document.get(name))},
        compositions={
            name: tuple(map(read_schema, document[name]))
            for name in COMPOSITIONS
            if isinstance(document.get(name), list) and document[name]
        },
        negated=read_schema(negated) if isinstance(negated, dict) else None,
        rules=tuple(canonical_json(rule).decode() for rule in rules if rule) if isinstance(rules, list) else (),
    )


def _is_limit(name: str, value: Any) -> bool:
    if name in _TEXTS:
        return isinstance(value, str) and value != ""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _additional(value: Any) -> Schema | bool:
    return read_schema(value) if isinstance(value, dict) else value is True


def _text(document: Json, name: str) -> str:
    value = document.get(name)
    return value if isinstance(value, str) else ""


def _texts(document: Json, name: str) -> tuple[str, ...]:
    value = document.get(name)
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _mapping(document: Json, name: str) -> Json:
    value = document.get(name)
    return value if isinstance(value, dict) else {}

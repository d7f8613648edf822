"""Structural OpenAPI v3 schemas from the API's types, as CustomResourceDefinitions want them: inlined, no references.

Status schemas come without CEL rules: status is ours to write, and it repeats what older rules accepted.
"""

import inspect
from typing import Any

from msgspec import inspect as types

Schema = dict[str, Any]


def schema_of(kind: type, *, rules: bool) -> Schema:
    return _schema(types.type_info(kind), rules=rules)


def _schema(kind: types.Type, *, rules: bool) -> Schema:
    match kind:
        case types.Metadata():
            return _described(kind, rules=rules)
        case types.UnionType():  # only ever `X | None`: the field may be absent, it is never null
            return _schema(next(one for one in kind.types if not isinstance(one, types.NoneType)), rules=rules)
        case types.StructType():
            return _struct(kind, rules=rules)
        case types.VarTupleType():
            return {"type": "array", "items": _schema(kind.item_type, rules=rules)}
        case types.DictType():
            return _map(kind)
        case _:
            return _scalar(kind)


def _map(kind: types.DictType) -> Schema:
    if isinstance(kind.value_type, types.AnyType):
        return {"type": "object"}
    return {"type": "object", "additionalProperties": _scalar(kind.value_type)}


def _scalar(kind: types.Type) -> Schema:
    match kind:
        case types.EnumType():
            return {"type": "string", "enum": [member.value for member in kind.cls]}
        case types.StrType():
            return {"type": "string"}
        case types.BoolType():
            return {"type": "boolean"}
        case types.IntType():
            return {"type": "integer"}
        case _:
            raise TypeError(f"no OpenAPI schema for {kind}")


def _described(kind: types.Metadata, *, rules: bool) -> Schema:
    extra = dict(kind.extra_json_schema or {})
    inner = _schema(kind.type, rules=rules)
    inner.pop("description", None)
    return {"description": extra.pop("description"), **inner, **extra}


def _struct(kind: types.StructType, *, rules: bool) -> Schema:
    schema: Schema = {"description": inspect.cleandoc(kind.cls.__doc__ or ""), "type": "object"}
    required = [field.encode_name for field in kind.fields if field.required]
    if required:
        schema["required"] = required
    if kind.fields:
        schema["properties"] = {field.encode_name: _schema(field.type, rules=rules) for field in kind.fields}
    if rules and (found := getattr(kind.cls, "rules", ())):
        schema["x-kubernetes-validations"] = [rule._asdict() for rule in found]
    return schema

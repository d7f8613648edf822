"""Codecs: a Go type compiled to one function that decodes a value and encodes it again, at once.

A struct's fields are compiled when the first value of it comes. One level of nesting is one Python frame, so that
whatever the YAML reader lets through fits Python's stack. Values that come out as they went in (texts, lists of texts,
raw JSON) are shared with the input, never copied.

`in_document` marks what is read by Go's JSON decoder instead of its converter from unstructured objects: integers do
not wrap there, and integral floats are no integers. Elsewhere they wrap as in Go where the trace says so.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

from rukpak_py.content.yaml_scalars import integral
from rukpak_py.formats.go_types import shapes
from rukpak_py.formats.go_types.leaves import LEAVES, base64_of, canonical_base64
from rukpak_py.formats.go_types.shapes import (
    INTEGER_BITS,
    Bytes,
    List,
    Map,
    Own,
    Pointer,
    Scalar,
    Shape,
    Struct,
)
from rukpak_py.formats.go_types.traces import ABSENT, At, Trace
from rukpak_py.formats.type_defects import INTEGERS, Wanted

Decode: TypeAlias = Callable[[Any, At, Trace], Any]

_CLOSED = {"PolicyRule"}  # what installs rights never carries what the server would not read
_SCHEMA = "JSONSchemaProps"
_TOO_LARGE = 1 << 63  # the processor makes the smallest integer of such a float
_SAFE_INTEGER = 1 << 53  # up to here every integer is a float too


@dataclass(frozen=True, kw_only=True, slots=True)
class Codec:
    decode: Decode  # of a value that is not null
    decode_dict: Decode  # the same for a value that is a dict
    zero: Callable[[], Any]  # the JSON form of the type's zero value
    same: type | None = None  # values of exactly this type are their own JSON form
    verbatim: bool = False  # all values are
    emptiable: bool = False  # Go's omitempty looks whether it is empty
    nilable: bool = False  # Go's omitempty looks whether it is there


@cache
def codec(shape: Shape, *, in_document: bool = False) -> Codec:
    match shape:
        case Pointer(to):
            return replace(codec(to, in_document=in_document), zero=_nothing, emptiable=False, nilable=True)
        case Struct():
            reader = _StructReader(shape, in_document=in_document)
            return _simple(reader.decode, reader.zero)
        case List(item):
            return _container(
                codec(item, in_document=in_document),
                holder=list,
                wanted=Wanted.LIST,
                items=iter,
                pairs=enumerate,
                finish=lambda restored: list(restored.values()),
            )
        case Map(item):
            return _container(
                codec(item, in_document=in_document),
                holder=dict,
                wanted=Wanted.OBJECT,
                items=dict.values,
                pairs=dict.items,
                finish=lambda restored: restored,
            )
        case Scalar():
            return _scalar(shape, in_document=in_document)
        case Bytes():
            return _simple(_bytes, zero=_nothing, emptiable=True)
        case Own(name):
            return _OWN[name]() if name in _OWN else _leaf(name)


def _simple(decode: Decode, zero: Callable[[], Any], *, same: type | None = None, emptiable: bool = False) -> Codec:
    return Codec(decode=decode, decode_dict=decode, zero=zero, same=same, emptiable=emptiable)


def _nothing() -> None:
    return None


# --- structs

FieldPlan: TypeAlias = tuple[type | None, bool, Decode, Decode]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plan:
    fields: dict[str, FieldPlan]
    always: tuple[tuple[str, Callable[[], Any]], ...]  # written even when nothing was given

    def completed(self, result: dict[str, Any]) -> dict[str, Any]:
        for key, zero in self.always:
            if key not in result:
                result[key] = zero()
        return result


class _StructReader:
    """Compiled when its first value comes: most of what a Deployment may hold never does."""

    __slots__ = ("_closed", "_in_document", "_made", "_shape")

    def __init__(self, shape: Struct, *, in_document: bool) -> None:
        self._shape = shape
        self._in_document = in_document
        self._closed = shape.name in _CLOSED
        self._made: _Plan | None = None

    def decode(self, value: Any, at: At, trace: Trace) -> Any:
        if type(value) is not dict:
            return trace.refuse(value, Wanted.OBJECT, at)
        plan = self._made or self._plan()
        find, struct = plan.fields.get, self._shape.name
        result: dict[str, Any] = {}
        for key, item in value.items():
            field = find(key)
            if field is None:
                if trace.keeps_unknown((at, key, "")) and not self._closed:
                    result[key] = item
                continue
            same, empty_goes, decode, decode_dict = field
            kind = type(item)
            if kind is same:
                if item or not empty_goes:
                    result[key] = item
            elif item is not None:
                made = (decode_dict if kind is dict else decode)(item, (at, key, struct), trace)
                if made is not ABSENT and (made or not empty_goes):
                    result[key] = made
        return plan.completed(result) if plan.always else result

    def zero(self) -> dict[str, Any]:
        return self._plan().completed({})

    def _plan(self) -> _Plan:
        if self._made is None:
            self._made = _plan(self._shape, in_document=self._in_document)
        return self._made


def _plan(shape: Struct, *, in_document: bool) -> _Plan:
    plans: dict[str, FieldPlan] = {}
    always: list[tuple[str, Callable[[], Any]]] = []
    for field in shapes.fields(shape.name):
        compiled = codec(field.shape, in_document=in_document)
        empty_goes = field.omits_zero or (field.omits_empty and compiled.emptiable)
        plans[field.name] = (compiled.same, empty_goes, compiled.decode, compiled.decode_dict)
        # Go's omitempty never leaves out a struct.
        may_be_omitted = field.omits_empty and (compiled.emptiable or compiled.nilable)
        if not field.omits_zero and not may_be_omitted:
            always.append((field.name, compiled.zero))
    return _Plan(fields=plans, always=tuple(always))


# --- lists and maps


def _container(
    element: Codec,
    *,
    holder: type,
    wanted: Wanted,
    items: Callable[[Any], Iterable[Any]],
    pairs: Callable[[Any], Iterable[tuple[Any, Any]]],
    finish: Callable[[dict[Any, Any]], Any],
) -> Codec:
    same = element.same

    def decode(value: Any, at: At, trace: Trace) -> Any:
        if type(value) is not holder:
            return trace.refuse(value, wanted, at)
        if element.verbatim:
            return value
        if same is not None and {*map(type, items(value))} <= {same}:
            return value
        restored: dict[Any, Any] = {}
        for key, item in pairs(value):
            made = ABSENT
            if item is not None:
                read = element.decode_dict if type(item) is dict else element.decode
                made = read(item, (at, key, ""), trace)
            restored[key] = element.zero() if made is ABSENT else made
        return finish(restored)

    return _simple(decode, _nothing, emptiable=True)


# --- texts, booleans, numbers, bytes


def _scalar(shape: Scalar, *, in_document: bool) -> Codec:
    if shape.kind in INTEGER_BITS:
        return _integer(shape, in_document=in_document)
    if shape.kind == "float64":
        return _float()
    same, wanted = {"string": (str, Wanted.STRING), "bool": (bool, Wanted.BOOLEAN)}[shape.kind]

    def decode(value: Any, at: At, trace: Trace) -> Any:
        return value if type(value) is same else trace.refuse(value, wanted, at)

    return _simple(decode, same, same=same, emptiable=True)


def _integer(shape: Scalar, *, in_document: bool) -> Codec:
    bits = INTEGER_BITS[shape.kind]

    def decode(value: Any, at: At, trace: Trace) -> Any:
        is_float = type(value) is float and value.is_integer() and not in_document
        if type(value) is not int and not is_float:
            return trace.refuse(value, Wanted.INTEGER, at)
        number = int(value) if not is_float or abs(value) < _TOO_LARGE else -_TOO_LARGE
        least = 0 if bits == 8 else -(1 << (bits - 1))  # bytes have no sign
        wrapped = (number - least) % (1 << bits) + least
        if wrapped != value and (in_document or not trace.wraps):
            return trace.refuse(value, INTEGERS[bits], at)
        return wrapped

    return _simple(decode, int, same=int if bits == 64 else None, emptiable=True)


def _float() -> Codec:
    def decode(value: Any, at: At, trace: Trace) -> Any:
        if type(value) is int:
            return value if abs(value) < _SAFE_INTEGER else integral(float(value))
        return value if type(value) is float else trace.refuse(value, Wanted.NUMBER, at)

    return _simple(decode, int, same=float, emptiable=True)


def _bytes(value: Any, at: At, trace: Trace) -> Any:
    """A string in base 64; Go takes a list of numbers too."""
    if type(value) is list:
        numbers = _numbers().decode(value, at, trace)
        return ABSENT if numbers is ABSENT else base64_of(bytes(number % 256 for number in numbers))
    try:
        return canonical_base64(value) if type(value) is str else trace.refuse(value, Wanted.BASE64, at)
    except ValueError:
        return trace.refuse(value, Wanted.BASE64, at)


@cache
def _numbers() -> Codec:
    return codec(List(Scalar("uint8")))


# --- types with JSON code of their own


def _leaf(name: str) -> Codec:
    leaf = LEAVES[name]

    def decode(value: Any, at: At, trace: Trace) -> Any:
        try:
            return leaf.read(value)
        except OverflowError:
            return trace.refuse(value, Wanted.INTEGER_32, at)
        except ValueError:
            return trace.refuse(value, leaf.wanted, at)

    return replace(_simple(decode, lambda: leaf.zero), verbatim=leaf.verbatim, nilable=leaf.nilable)


def _schema_or(decode: Decode, zero: Any) -> Codec:
    """Its JSON is a schema when it is an object, and what `decode` makes of it else."""
    schema = codec(shapes.shape(_SCHEMA), in_document=True)
    return Codec(decode=decode, decode_dict=schema.decode, zero=lambda: zero)


def _schema_or_bool() -> Codec:
    def decode(value: Any, at: At, trace: Trace) -> Any:
        return value if type(value) is bool else trace.refuse(value, Wanted.SCHEMA, at)

    return _schema_or(decode, zero=False)


def _schema_or_list(item: str) -> Codec:
    """Whatever is neither a schema nor a list, and an empty list too, is null to Go."""
    items = codec(shapes.shape(f"[]{item}"), in_document=True)

    def decode(value: Any, at: At, trace: Trace) -> Any:
        return (items.decode(value, at, trace) if type(value) is list else None) or None

    return _schema_or(decode, zero=None)


_OWN: dict[str, Callable[[], Codec]] = {
    "JSONSchemaPropsOrArray": lambda: _schema_or_list(_SCHEMA),
    "JSONSchemaPropsOrBool": _schema_or_bool,
    "JSONSchemaPropsOrStringArray": lambda: _schema_or_list("string"),
}

"""The first decoding of every object: its `metadata` has to fit Kubernetes' typed ObjectMeta.

Go's JSON decoder walks the document with keys in sorted order and keeps the first value of a wrong type; but a time
that cannot be read ends it at once, and then that is what it tells. Names are matched exactly, unknown ones pass, null
fits everywhere.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from rukpak_py.content.yaml_positions import Path
from rukpak_py.content.yaml_scalars import INT64_MAX, INT64_MIN
from rukpak_py.core import gojson
from rukpak_py.formats.manifests import go_kind
from rukpak_py.formats.registry_v1.typed import go_time
from rukpak_py.formats.registry_v1.typed.traces import TypeDefect


@dataclass(frozen=True, kw_only=True, slots=True)
class _Struct:
    name: str
    package: str = ""
    fields: Mapping[str, "_Type"]


@dataclass(frozen=True, kw_only=True, slots=True)
class _List:
    of: "_Type"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Texts:
    """A map of text to text."""


_Type: TypeAlias = str | _Struct | _List | _Texts  # a text is the name of a scalar type
_TIME = "time"

_OWNER = _Struct(
    name="OwnerReference",
    package="v1.",
    fields={
        **dict.fromkeys(("apiVersion", "kind", "name"), "string"),
        **dict.fromkeys(("blockOwnerDeletion", "controller"), "bool"),
        "uid": "types.UID",
    },
)
_MANAGED = _Struct(
    name="ManagedFieldsEntry",
    package="v1.",
    fields={
        **dict.fromkeys(("apiVersion", "fieldsType", "manager", "subresource"), "string"),
        "operation": "v1.ManagedFieldsOperationType",
        "time": _TIME,
    },
)
_META = _Struct(
    name="ObjectMeta",
    package="v1.",
    fields={
        **dict.fromkeys(("generateName", "name", "namespace", "resourceVersion", "selfLink"), "string"),
        **dict.fromkeys(("annotations", "labels"), _Texts()),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), _TIME),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), "int64"),
        "finalizers": _List(of="string"),
        "managedFields": _List(of=_MANAGED),
        "ownerReferences": _List(of=_OWNER),
        "uid": "types.UID",
    },
)
_PYTHON = {"bool": bool, "int64": int}  # every other scalar type is text


@dataclass(frozen=True, kw_only=True, slots=True)
class _Defect:
    path: Path
    text: str
    ends_decoding: bool = False


def object_meta_defects(manifest: Mapping[str, Any]) -> list[TypeDefect]:
    """Everything of a wrong type; the first is what the reference renderer says."""
    found = list(_object(manifest))
    found.sort(key=lambda defect: not defect.ends_decoding)
    return [TypeDefect(path=defect.path, text=defect.text) for defect in found]


def _object(manifest: Mapping[str, Any]) -> Iterator[_Defect]:
    for name in ("apiVersion", "kind"):
        yield from _decoded(manifest.get(name), "string", path=(name,), field=f"metadataOnlyObject.TypeMeta.{name}")
    yield from _decoded(manifest.get("metadata"), _META, path=("metadata",), field="metadataOnlyObject.metadata")


def _decoded(value: object, wanted: _Type, *, path: Path, field: str) -> Iterator[_Defect]:
    match wanted, value:
        case _, None:
            pass
        case _Struct(), dict():
            yield from _struct(value, wanted, path=path, field=field)
        case _List(), list():
            for index, item in enumerate(value):
                yield from _decoded(item, wanted.of, path=(*path, index), field=field)
        case _Texts(), dict():
            for key in sorted(value):
                yield from _decoded(value[key], "string", path=(*path, key), field=field)
        case str(), _:
            yield from _scalar(value, wanted, path=path, field=field)
        case _:
            yield _wrong(value, wanted, path=path, field=field)


def _struct(value: dict[str, Any], wanted: _Struct, *, path: Path, field: str) -> Iterator[_Defect]:
    around = field.partition(".")[2]
    for name in sorted(wanted.fields.keys() & value):
        inner = f"{wanted.name}.{around}.{name}"
        yield from _decoded(value[name], wanted.fields[name], path=(*path, name), field=inner)


def _scalar(value: object, wanted: str, *, path: Path, field: str) -> Iterator[_Defect]:
    if wanted == _TIME and isinstance(value, str):
        try:
            go_time.canonical(value)
        except ValueError as error:
            yield _Defect(path=path, text=str(error), ends_decoding=True)
    elif wanted == "int64" and isinstance(value, int | float) and not isinstance(value, bool):
        if not isinstance(value, int) or not INT64_MIN <= value <= INT64_MAX:
            yield _wrong(value, wanted, path=path, field=field, shown=f" {gojson.encode(value).decode()}")
    elif type(value) is not _PYTHON.get(wanted, str):
        yield _wrong(value, wanted, path=path, field=field)


def _wrong(value: object, wanted: _Type, *, path: Path, field: str, shown: str = "") -> _Defect:
    text = f"json: cannot unmarshal {go_kind(value)}{shown} into Go struct field {field} of type {_named(wanted)}"
    return _Defect(path=path, text=text, ends_decoding=wanted == _TIME)


def _named(wanted: _Type) -> str:
    match wanted:
        case _Struct():
            return f"{wanted.package}{wanted.name}"
        case _List():
            return f"[]{_named(wanted.of)}"
        case _Texts():
            return "map[string]string"
        case _:
            return "string" if wanted == _TIME else wanted

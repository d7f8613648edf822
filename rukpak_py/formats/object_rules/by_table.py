"""Defects that the tables of Go's types show: wrong types, missing fields, unknown values, entries given twice."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, Final

import msgspec

from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import Fix
from rukpak_py.formats.go_types import shapes
from rukpak_py.formats.go_types.markers import Markers, markers
from rukpak_py.formats.go_types.restore import restore
from rukpak_py.formats.go_types.shapes import List, Pointer, Scalar, Struct
from rukpak_py.formats.object_rules.parts import Defect, Part, Sort
from rukpak_py.formats.rules import of_other_case
from rukpak_py.formats.type_defects import QUANTITIES, RANGES, TypeDefect, Wanted

# Without omitempty in Go, and yet the server takes objects without them, or sets them.
_NOT_REQUIRED: Final = frozenset(
    {
        ("HTTPHeader", "value"),
        ("ISCSIVolumeSource", "lun"),
        ("ISCSIPersistentVolumeSource", "lun"),
        ("SleepAction", "seconds"),
        ("Sysctl", "value"),
        ("TokenRequest", "audience"),
        ("TypedLocalObjectReference", "kind"),
        ("VolumeMount", "name"),  # told as a mount without a volume
        ("CustomResourceDefinitionVersion", "served"),
        ("CustomResourceDefinitionVersion", "storage"),
    }
)
# What the server needs although Go's types call it optional.
_REQUIRED: Final = {
    "PodTemplateSpec": ("spec",),
    "JobTemplateSpec": ("spec",),
    "ExecAction": ("command",),
    "IngressServiceBackend": ("port",),
    "ValidatingWebhook": ("clientConfig",),
    "MutatingWebhook": ("clientConfig",),
    "ConfigMapVolumeSource": ("name",),
    "SecretVolumeSource": ("secretName",),
}
# Enumerations that Go's types do not mark, and lists whose entries have a key.
_CHOICES: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "PodOS": {"name": ("linux", "windows")},
    "ContainerResizePolicy": {"restartPolicy": ("NotRequired", "RestartContainer")},
    "HPAScalingRules": {"selectPolicy": ("Disabled", "Max", "Min")},
    "StatefulSetPersistentVolumeClaimRetentionPolicy": {
        "whenDeleted": ("Delete", "Retain"),
        "whenScaled": ("Delete", "Retain"),
    },
}
_KEYS: Final = {
    "PodSecurityContext": {"sysctls": ("name",)},
    "Container": {"resizePolicy": ("resourceName",), "ports": ("name",)},  # of ports beside number and protocol
    "ServiceSpec": {"ports": ("name",)},
}
_SECRET: Final = frozenset({("data",), ("stringData",)})  # of a Secret: values that no message shows
_TAKEN: Final = frozenset({("VolumeMount", "mountPropagation")})  # enumerations that the server does not check there
_ELSEWHERE: Final = frozenset({"CustomResourceDefinitionSpec", "CustomResourceDefinitionVersion"})


def type_defects(manifest: Any, type_name: str) -> Iterator[Defect]:
    found: list[TypeDefect] = []
    try:
        restore(manifest, type_name, keep_unknown=True, defects=found, unknown=[], wraps=False)
    except ContentError:
        return  # nested too deeply; told by the rule about JSON
    for one in found:
        if one.wanted in RANGES:
            continue  # PLAIN-011 and RV1-961 tell: they prevent rendering
        is_secret = type_name == "v1/Secret" and one.path[:1] in _SECRET
        message = one.message_without_value if is_secret else one.message
        yield Defect(sort=Sort.TYPE, path=one.path, message=message, hint=_advice(one), fix=one.fix)


def _advice(defect: TypeDefect) -> str:
    """Empty where the rule's says as much. The value is left out, so that several findings share a line."""
    match defect.wanted, defect.got:
        case _, _ if defect.fix is not None:
            return "Remove the quotes." if isinstance(defect.got, str) else "Put the value in quotes."
        case Wanted.BASE64, _ if defect.path[:1] == ("data",):
            return "Encode the value as base64, or move it to `stringData`."
        case Wanted.LIST, _:
            return "Write a list: begin each entry with `- `."
        case Wanted.QUANTITY, _:
            return QUANTITIES
        case Wanted.OBJECT | Wanted.BOOLEAN | Wanted.INTEGER, _:
            return f"Write {defect.wanted}."
        case _:
            return ""


def table_defects(part: Part) -> Iterator[Defect]:
    marked = markers(part.struct)
    if part.struct not in _ELSEWHERE:
        yield from _missing(part, marked)
    for field, values in (*marked.enums.items(), *_CHOICES.get(part.struct, {}).items()):
        if (part.struct, field) in _TAKEN:
            continue
        yield from _unknown_values(part, field, values)
    for field, keys in (*marked.keys.items(), *_KEYS.get(part.struct, {}).items()):
        yield from _repeated_entries(part, field, keys)
    for field in marked.sets:
        yield from _repeated_values(part, field)


def _missing(part: Part, marked: Markers) -> Iterator[Defect]:
    needed = _needed(part.struct)
    for field in marked.required:
        if field in needed and _is_empty(part.value.get(field)) and field not in marked.defaults:
            yield part.defect(Sort.REQUIRED, f"{field} is required", field)
    for field in _REQUIRED.get(part.struct, ()):
        if not part.value.get(field):
            yield part.defect(Sort.REQUIRED, f"{field} is required", field)


@cache
def _needed(struct: str) -> frozenset[str]:
    """Fields of which the empty value is none: texts, lists, pointers, and numbers; and structs that need a field."""
    found = set()
    for one in shapes.fields(struct):
        match one.shape:
            case Scalar("bool"):
                continue
            case Struct(name) if not markers(name).required:
                continue
            case _:
                if (struct, one.name) not in _NOT_REQUIRED:
                    found.add(one.name)
    return frozenset(found)


def _is_empty(value: Any) -> bool:
    return value is None or (not isinstance(value, bool | dict) and not value)


def _unknown_values(part: Part, field: str, values: tuple[str, ...]) -> Iterator[Defect]:
    found = part.value.get(field)
    listed = (
        [((field, index), one) for index, one in enumerate(found)] if isinstance(found, list) else [((field,), found)]
    )
    for path, one in listed:
        if isinstance(one, str) and one and one not in values:
            known = ", ".join(value for value in values if value)
            same = of_other_case(one, values)
            (near,) = [same] if same else get_close_matches(one, values, n=1) or [""]
            hint = f"Did you mean {near}?" if near else ""
            fix = Fix(text=same) if same else None
            yield part.defect(Sort.CHOICE, f'{field} is "{one[:60]}", and may be {known}', *path, hint=hint, fix=fix)


def _repeated_entries(part: Part, field: str, keys: tuple[str, ...]) -> Iterator[Defect]:
    seen: dict[tuple[Any, ...], int] = {}
    defaults = _entry_defaults(part.struct, field)
    for index, entry in part.entries(field):
        key = tuple(_plain(entry.get(name, defaults.get(name))) for name in keys)
        if all(one in {None, ""} for one in key):
            continue  # told as missing
        first = seen.setdefault(key, index)
        if first != index:
            shown = ", ".join(f"{name} {value}" for name, value in zip(keys, key, strict=True) if value is not None)
            message = f"{field}[{first}] and {field}[{index}] have the same {shown}"
            yield part.defect(Sort.REPEATED, message, field, index)


def _repeated_values(part: Part, field: str) -> Iterator[Defect]:
    seen: set[Any] = set()
    for index, value in enumerate(part.items(field)):
        plain = _plain(value)
        if plain in seen:
            yield part.defect(Sort.REPEATED, f"{field} has {plain} twice", field, index)
        seen.add(plain)


@cache
def _entry_defaults(struct: str, field: str) -> dict[str, Any]:
    shape = next(one.shape for one in shapes.fields(struct) if one.name == field)
    while isinstance(shape, Pointer | List):
        shape = shape.to if isinstance(shape, Pointer) else shape.item
    if not isinstance(shape, Struct):
        return {}
    return {name: msgspec.json.decode(value) for name, value in markers(shape.name).defaults.items()}


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool) or value is None else repr(value)

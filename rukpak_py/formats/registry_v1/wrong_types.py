"""Values of a wrong type, told to people: what is there, what is wanted, and how to write it.

What is wanted is read from the words of the Go decoder, which know it.
"""

import json
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeAlias

from rukpak_py.content.yaml_positions import Path
from rukpak_py.formats.builtin_types import Overflow
from rukpak_py.formats.registry_v1.bundle import Document
from rukpak_py.formats.registry_v1.defects import WRONG_TYPE, Defects
from rukpak_py.formats.registry_v1.metadata.annotations import CHANNELS
from rukpak_py.formats.registry_v1.typed.traces import TypeDefect
from rukpak_py.formats.rules import path_text


class Wanted(StrEnum):
    TEXT = "a string"
    BOOLEAN = "true or false"
    INTEGER = "an integer"
    NUMBER = "a number"
    QUANTITY = "a quantity"
    LIST = "a list"
    OBJECT = "an object"
    TEXTS = "an object of strings"


_OVERFLOW = re.compile(r" does not fit an integer of (?P<bits>\d+) bits$")
_GO_TYPE = re.compile(r"(?:unrecognized type: |cannot convert \w+ to |of type )(?P<name>\S+)$")
_WANTED = {
    **dict.fromkeys(("string", "types.UID", "v1.ManagedFieldsOperationType"), Wanted.TEXT),
    **dict.fromkeys(("int", "int32", "int64"), Wanted.INTEGER),
    "bool": Wanted.BOOLEAN,
    "float64": Wanted.NUMBER,
    "map[string]string": Wanted.TEXTS,
}
_STARTS = {
    "cannot restore slice": Wanted.LIST,
    "cannot restore map": Wanted.OBJECT,
    "cannot restore struct": Wanted.OBJECT,
    "quantities must": Wanted.QUANTITY,
}
_LITERALS = {
    Wanted.BOOLEAN: re.compile(r"true|false"),
    Wanted.INTEGER: re.compile(r"-?\d{1,18}"),
    Wanted.NUMBER: re.compile(r"-?\d{1,18}(\.\d+)?"),
}
# Texts of a form of their own, by the name of the field.
_FORMS: dict[str | int, str] = {
    "version": "Write a semantic version: 1.2.3.",
    "release": "Write identifiers separated by dots, numbers without leading zeroes.",
    "creationTimestamp": "Remove the field: the cluster sets it.",
    "deletionTimestamp": "Remove the field: the cluster sets it.",
    "lastUpdateTime": "Remove the status: the cluster sets it.",
    "caBundle": "Write the certificates in PEM, encoded as base64; or remove the field.",
}
# Lists of texts, where an author may well have meant a list of one.
_TEXT_LISTS = frozenset(
    {"args", "command", "keywords", "verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"}
    | {"conversionCRDs", "admissionReviewVersions", "operations", "apiVersions", "required", "shortNames", "categories"}
)
# Texts that are lists, their parts separated by commas.
_PARTED = frozenset({CHANNELS, "categories"})
_SHOWN = 40
_MOST_PARTS = 200
# How the plain value at a path of the document is spelled in its file.
Spelling: TypeAlias = Callable[[Path, Any], str | None]
# What of a ClusterServiceVersion becomes part of an object; 0 is any index.
_REACHES_OUTPUT: tuple[Path, ...] = (
    ("metadata", "name"),
    ("metadata", "annotations"),
    ("spec", "install"),
    ("spec", "installModes"),
    ("spec", "webhookdefinitions"),
    ("spec", "customresourcedefinitions", "owned", 0, "name"),
    ("spec", "apiservicedefinitions"),
)


def add_wrong_type(defects: Defects, document: Document, defect: TypeDefect, *, upstream: str) -> None:
    path, message, hint = explained(
        document.manifest, defect, lambda path, value: defects.written(document.place(*path), value)
    )
    defects.add(
        WRONG_TYPE,
        message,
        upstream=upstream,
        place=document.place(*path),
        hint=hint,
        prevents_rendering=document.kind != "ClusterServiceVersion" or _reaches_output(path),
    )


def explained(root: Any, defect: TypeDefect, written: Spelling) -> tuple[Path, str, str | None]:
    """Where in the document it is, what is wrong there, and how to write it."""
    wanted = _wanted(defect.text)
    path, value = _culprit(root, defect.path, wanted)
    where = path_text(path) or "the document"
    if overflow := _OVERFLOW.search(defect.text):
        too_large = Overflow(path=path, value=value, bits=int(overflow["bits"]))
        return path, too_large.message, too_large.hint
    if wanted is None:
        return path, f"{where} cannot be used: {defect.text}", _FORMS.get(path[-1] if path else "")
    is_plain = isinstance(value, bool | int | float)
    spelled = (written(path, value) if is_plain else None) or _json(value)
    return path, f"{where} must be {wanted}, got {_described(value, spelled)}", _hint(path, value, wanted, spelled)


def _wanted(text: str) -> Wanted | None:
    for start, wanted in _STARTS.items():
        if text.startswith(start):
            return wanted
    match = _GO_TYPE.search(text)
    if match is None:
        return None
    return Wanted.LIST if match["name"].startswith("[]") else _WANTED.get(match["name"], Wanted.OBJECT)


def _culprit(root: Any, path: Path, wanted: Wanted | None) -> tuple[Path, Any]:
    """The path and the value there; one step further where Go names only the map that holds the value."""
    value = root
    for part in path:
        try:
            value = value[part]
        except (LookupError, TypeError):
            return path, None
    if isinstance(value, dict) and wanted is Wanted.TEXT:
        for key, item in value.items():
            if item is not None and not isinstance(item, str):
                return (*path, key), item
    return path, value


def _described(value: Any, spelled: str) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return f"boolean {spelled}"
        case int() | float():
            return f"number {spelled}"
        case str():
            return f"string {spelled}" if len(value) <= _SHOWN else "a long string"
        case list():
            return Wanted.LIST
        case _:
            return Wanted.OBJECT


def _hint(path: Path, value: Any, wanted: Wanted, spelled: str) -> str:
    key = "" if not path else "- " if isinstance(path[-1], int) else f"{path[-1]}: "
    match wanted, value:
        case Wanted.TEXT | Wanted.TEXTS, bool() | int() | float():
            return _quoted(key, value, spelled)
        case _, str() if wanted in _LITERALS and _LITERALS[wanted].fullmatch(value):
            return f"Remove the quotes: {key}{value}"
        case Wanted.INTEGER, float():
            return f"Write a whole number: {key}{round(value)}"
        case Wanted.TEXT, list() | dict():
            return _one_text(key, value, spelled)
        case Wanted.LIST, str() if len(value) <= _SHOWN and path[-1:] and path[-1] in _TEXT_LISTS:
            return f"Write a list of one: {key}[{_json(value)}]"
        case Wanted.LIST, _:
            return "Write a list: begin each entry with `- `."
        case Wanted.OBJECT | Wanted.TEXTS, list():
            return "Write an object: remove the `- ` in front of its fields."
        case Wanted.OBJECT | Wanted.TEXTS, _:
            return "Write an object: fields of the form `name: value`, each on a line of its own below it."
        case Wanted.QUANTITY, _:
            return "Write a number with or without a suffix: 500m, 2, 64Mi, 1.5Gi."
        case _:
            return f"Write {wanted} here."


def _quoted(key: str, value: Any, spelled: str) -> str:
    if key == "minKubeVersion: " and isinstance(value, float):
        return f'Write all three parts, in quotes: {key}"{spelled}.0"'
    return f'Put it in quotes: {key}"{spelled}"'


def _one_text(key: str, value: Any, spelled: str) -> str:
    if isinstance(value, list) and key.removesuffix(": ") in _PARTED and all(isinstance(item, str) for item in value):
        return f"Write one string, the parts separated by commas without blanks: {key}{','.join(value)[:_MOST_PARTS]}"
    return f"Write a string instead of {_described(value, spelled)}, in quotes where it is needed."


def _reaches_output(path: Path) -> bool:
    """Whether the path is one of those that do, or around or inside of one."""
    plain = tuple(0 if isinstance(part, int) else part for part in path)
    return any(all(a == b for a, b in zip(plain, known, strict=False)) for known in _REACHES_OUTPUT)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

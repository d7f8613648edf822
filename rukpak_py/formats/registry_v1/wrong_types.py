"""Values of a wrong type, told to people: what is there, what is wanted, and how to write it."""

import json
from dataclasses import replace
from typing import Any

from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.findings import Profile
from rukpak_py.formats.documents import Document
from rukpak_py.formats.registry_v1.metadata.annotations import CHANNELS
from rukpak_py.formats.registry_v1.reading import WRONG_TYPE, Defects
from rukpak_py.formats.rules import Place, Problem, path_text
from rukpak_py.formats.type_defects import QUANTITIES, RANGES, TEXTS, TypeDefect, Wanted, is_literal, kind_of, must_be

# Values of a form or a range of their own.
_FORMS = {
    **RANGES,
    Wanted.VERSION: "Write a semantic version: 1.2.3.",
    Wanted.RELEASE: "Write identifiers separated by dots, numbers without leading zeroes.",
    Wanted.TIME: "Remove the field: the cluster sets it.",
    Wanted.BASE64: "Write the certificates in PEM, encoded as base64; or remove the field.",
    Wanted.QUANTITY: QUANTITIES,
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


def add_wrong_type(defects: Defects, document: Document, defect: TypeDefect) -> None:
    defects.add(
        WRONG_TYPE,
        replace(
            wrong_type(defects, document.place(*defect.path), defect),
            error_only_in=Profile.DEFAULT if defect.wanted in RANGES else None,  # `opm` makes another number of it
        ),
        prevents_rendering=document.kind != "ClusterServiceVersion" or _reaches_output(defect.path),
    )


def wrong_type(defects: Defects, place: Place, defect: TypeDefect) -> Problem:
    """The problem of a value at its place, and how to write the value."""
    where, value = path_text(defect.path) or "the document", defect.got
    spelled = ""
    if isinstance(value, bool | int | float):  # as the file spells it: 1.30 for 1.3
        spelled = defects.written(place, value) or _json(value)
    return Problem(
        message=f"{where} {must_be(defect.wanted, value, spelled)}",
        place=place,
        hint=_hint(defect.path, value, defect.wanted, spelled),
        fix=defect.fix,
    )


def _hint(path: Path, value: Any, wanted: Wanted, spelled: str) -> str:
    key = "" if not path else "- " if isinstance(path[-1], int) else f"{path[-1]}: "
    match wanted, value:
        case _ if wanted in TEXTS and isinstance(value, bool | int | float):
            return _quoted(key, value, spelled)
        case _, str() if is_literal(wanted, value):
            return f"Remove the quotes: {key}{value}"
        case Wanted.INTEGER, float():
            return f"Write a whole number: {key}{round(value)}"
        case Wanted.STRING, list() | dict():
            return _one_text(key, value)
        case Wanted.LIST, str() if len(value) <= _SHOWN and path[-1:] and path[-1] in _TEXT_LISTS:
            return f"Write a list of one: {key}[{_json(value)}]"
        case Wanted.LIST, _:
            return "Write a list: begin each entry with `- `."
        case Wanted.OBJECT, list():
            return "Write an object: remove the `- ` in front of its fields."
        case Wanted.OBJECT, _:
            return "Write an object: fields of the form `name: value`, each on a line of its own below it."
        case _ if wanted in _FORMS:
            return _FORMS[wanted]
        case _:
            return f"Write {wanted} here."


def _quoted(key: str, value: Any, spelled: str) -> str:
    if key == "minKubeVersion: " and isinstance(value, float):
        return f'Write all three parts, in quotes: {key}"{spelled}.0"'
    return f'Put it in quotes: {key}"{spelled}"'


def _one_text(key: str, value: Any) -> str:
    if isinstance(value, list) and key.removesuffix(": ") in _PARTED and all(isinstance(item, str) for item in value):
        return f"Write one string, the parts separated by commas without blanks: {key}{','.join(value)[:_MOST_PARTS]}"
    return f"Write a string instead of {kind_of(value)}, in quotes where it is needed."


def _reaches_output(path: Path) -> bool:
    """Whether the path is one of those that do, or around or inside of one."""
    plain = tuple(0 if isinstance(part, int) else part for part in path)
    return any(all(a == b for a, b in zip(plain, known, strict=False)) for known in _REACHES_OUTPUT)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

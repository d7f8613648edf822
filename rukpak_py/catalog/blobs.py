"""Documents of a file as blobs, and blobs as values of the model: the phase in which `opm` loads a catalog.

A document is a blob when it is an object with a schema; the schema says which struct it is decoded into, one of OLM's
four or none. What is wrong becomes a Problem of one of the rules below. A blob that cannot be read is lost: its file is
then *broken*, and nothing can be said about what refers to the blob.
"""

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from msgspec import UNSET

from rukpak_py.catalog.checks import advice
from rukpak_py.catalog.fields import (
    Schema,
    Struct,
    defects,
    folded,
    is_exact,
    kind_of,
    member,
    names_beside,
    unknown_fields,
)
from rukpak_py.catalog.model import (
    BUNDLE,
    CHANNEL,
    DEPRECATIONS,
    PACKAGE,
    Bundle,
    Channel,
    CustomBlob,
    Deprecation,
    Deprecations,
    Entry,
    Icon,
    Origin,
    Package,
    Property,
    RelatedImage,
)
from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.findings import Severity
from rukpak_py.formats.rules import Place, Problem, Rule, RuleOfReading

NO_SCHEMA: Final = RuleOfReading(
    id="FBC-L01",
    title="Every blob has a schema",
    hint="Give the blob a `schema`, for example `olm.bundle`. Move a file without blobs away, or name it in a "
    ".indexignore file.",
)
NOT_AN_OBJECT: Final = RuleOfReading(
    id="FBC-L02",
    title="Every document is an object",
    hint="A catalog's directory holds blobs only: move other files away, or name them in a .indexignore file.",
)
META_TYPE: Final = RuleOfReading(
    id="FBC-L05",
    title="The schema, package and name of a blob are strings",
    hint="Put the value in quotes.",
)
REPEATED_KEY: Final = RuleOfReading(
    id="FBC-L06",
    title="No two keys of a blob differ in their case only",
    hint="Keep one of the keys.",
)
WRONG_TYPE: Final = RuleOfReading(
    id="FBC-L07",
    title="Fields have the types of their schema",
    hint="Write the value as the type that the schema of the blob has for it.",
)
ICON_DATA: Final = RuleOfReading(
    id="FBC-L08",
    title="The data of an icon is base64",
    hint="Encode the image: `base64 -w0 icon.svg`.",
)
UNKNOWN_FIELD: Final = RuleOfReading(
    id="FBC-W01",
    title="Blobs have only the fields of their schema",
    hint="Remove the field or correct its name: tools that read the catalog drop it.",
    severity=Severity.WARNING,
)
RULES: Final = (NO_SCHEMA, NOT_AN_OBJECT, META_TYPE, REPEATED_KEY, WRONG_TYPE, ICON_DATA, UNKNOWN_FIELD)

_PROPERTIES: Final[Schema] = [Struct({"type": "string", "value": "any"})]
_META: Final = {"schema": "string", "name": "string", "package": "string"}
SCHEMAS: Final = {
    PACKAGE: Struct(
        {
            "schema": "string",
            "name": "string",
            "defaultChannel": "string",
            "icon": Struct({"base64data": "string", "mediatype": "string"}),
            "description": "string",
            "properties": _PROPERTIES,
        }
    ),
    CHANNEL: Struct(
        {
            **_META,
            "entries": [Struct({"name": "string", "replaces": "string", "skips": ["string"], "skipRange": "string"})],
            "properties": _PROPERTIES,
        }
    ),
    BUNDLE: Struct(
        {
            **_META,
            "image": "string",
            "properties": _PROPERTIES,
            "relatedImages": [Struct({"name": "string", "image": "string"})],
        }
    ),
    DEPRECATIONS: Struct(
        {
            "schema": "string",
            "package": "string",
            "entries": [Struct({"reference": Struct({"schema": "string", "name": "string"}), "message": "string"})],
        }
    ),
}
_EMPTY_HINT: Final = (
    "Remove the `---` beside it, or move the comment below the `---`: for readers of catalogs, comments and empty "
    "lines alone are a document."
)
_LIST_HINT: Final = (
    "Write each blob as a document of its own: in YAML with `---` between them, in JSON one object behind the other, "
    "without brackets and commas."
)
_ADVISED: Final = 20  # unknown fields of a blob
_LINE_ENDS = re.compile(r"[\r\n]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    rule: Rule[Any] | RuleOfReading
    problem: Problem


Blob: TypeAlias = Package | Channel | Bundle | Deprecations | CustomBlob


def read_blob(value: Any, origin: Origin, told: list[Told]) -> Blob | None:
    """The blob of a document, or None where it is lost; what is wrong with it is added to `told`."""
    tell = _Teller(origin, told)
    if type(value) is not dict:
        if value is None:
            tell(NO_SCHEMA, "the document is empty", hint=_EMPTY_HINT)
        else:
            is_blobs = type(value) is list and value and type(value[0]) is dict and member(value[0], "schema")[1]
            hint = _LIST_HINT if is_blobs else None
            tell(NOT_AN_OBJECT, f"the document is {_article(kind_of(value))}, not an object", hint=hint)
        return None
    repeated = _repeated_keys(value)
    for keys in repeated:
        spelled = ", ".join(repr(key) for key in keys)
        tell(REPEATED_KEY, f"duplicate keys for key {folded(keys[0])!r}: {spelled}", (keys[-1],), on_key=True)
    meta = {name: _meta(value, name, tell) for name in ("schema", "package", "name")}
    if repeated or None in meta.values():
        return None
    schema = meta["schema"] or ""
    if not schema:
        tell(NO_SCHEMA, "the document has no schema")
        return None
    if schema not in SCHEMAS:
        return CustomBlob(
            schema=schema, package=meta["package"] or "", name=meta["name"] or "", value=value, origin=origin
        )
    wrong = _tell_defects(SCHEMAS[schema], value, schema, tell)
    return None if wrong else _READERS[schema](value, origin, tell)


def _tell_defects(struct: Struct, value: Any, schema: str, tell: "_Teller") -> bool:
    """Whether there is one that loses the blob."""
    if is_exact(struct, value):
        return False
    wrong = list(defects(struct, value))
    for defect in wrong:
        tell(WRONG_TYPE, defect.message, defect.path, hint=advice.on_type(defect))
    for number, path in enumerate(unknown_fields(struct, value)):
        hint = advice.on_field(str(path[-1]), names_beside(struct, path)) if number < _ADVISED else None
        tell(UNKNOWN_FIELD, f"{schema} has no field {str(path[-1])[:100]!r}", path, on_key=True, hint=hint)
    return bool(wrong)


class _Teller:
    def __init__(self, origin: Origin, told: list[Told]) -> None:
        self._origin = origin
        self._told = told

    def __call__(
        self, rule: RuleOfReading, message: str, path: Path = (), *, on_key: bool = False, hint: str | None = None
    ) -> None:
        place = Place(file=self._origin.file, document=self._origin.document, path=path, on_key=on_key)
        self._told.append(Told(rule=rule, problem=Problem(message=message, place=place, hint=hint)))


def _repeated_keys(value: dict[str, Any]) -> list[list[str]]:
    """Keys that are equal but for their case, in groups."""
    spellings: dict[str, list[str]] = {}
    for key in value:
        spellings.setdefault(folded(key), []).append(key)
    return [keys for keys in spellings.values() if len(keys) > 1]


def _meta(value: dict[str, Any], name: str, tell: _Teller) -> str | None:
    """The text of the field, empty where it is absent, None where it is something else."""
    key, found = member(value, name)
    if key not in value:
        return ""
    if type(found) is str:
        return found
    number = f" {found}"[:40] if type(found) in {int, float} else ""
    tell(META_TYPE, f"field {name!r} must be a string, got {kind_of(found)}{number}", (key,))
    return None


def _text(value: dict[str, Any], name: str) -> str:
    found = member(value, name)[1]
    return found if type(found) is str else ""


def _list(value: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects of a list; null among them is an object without fields, as in Go."""
    return [item if item is not None else {} for item in member(value, name)[1] or ()]


def _package(value: dict[str, Any], origin: Origin, tell: _Teller) -> Package:
    icon_key, icon = member(value, "icon")
    if icon:
        data_key, data = member(icon, "base64data")
        if not is_base64(data or ""):
            tell(ICON_DATA, "the data of the icon is not valid base64", (icon_key, data_key))
    return Package(
        name=_text(value, "name"),
        default_channel=_text(value, "defaultChannel"),
        icon=Icon(data=_text(icon, "base64data"), media_type=_text(icon, "mediatype")) if icon is not None else None,
        description=_text(value, "description"),
        properties=_properties(value),
        origin=origin,
    )


def _channel(value: dict[str, Any], origin: Origin, _tell: _Teller) -> Channel:
    entries = tuple(
        Entry(
            name=_text(entry, "name"),
            replaces=_text(entry, "replaces"),
            skips=tuple(name or "" for name in member(entry, "skips")[1] or ()),
            skip_range=_text(entry, "skipRange"),
        )
        for entry in _list(value, "entries")
    )
    return Channel(
        package=_text(value, "package"),
        name=_text(value, "name"),
        entries=entries,
        properties=_properties(value),
        origin=origin,
    )


def _bundle(value: dict[str, Any], origin: Origin, _tell: _Teller) -> Bundle:
    return Bundle(
        package=_text(value, "package"),
        name=_text(value, "name"),
        image=_text(value, "image"),
        properties=_properties(value),
        related_images=tuple(
            RelatedImage(name=_text(one, "name"), image=_text(one, "image")) for one in _list(value, "relatedImages")
        ),
        origin=origin,
    )


def _deprecations(value: dict[str, Any], origin: Origin, _tell: _Teller) -> Deprecations:
    entries = []
    for entry in _list(value, "entries"):
        reference = member(entry, "reference")[1] or {}
        entries.append(
            Deprecation(
                schema=_text(reference, "schema"), name=_text(reference, "name"), message=_text(entry, "message")
            )
        )
    return Deprecations(package=_text(value, "package"), entries=tuple(entries), origin=origin)


def _properties(value: dict[str, Any]) -> tuple[Property, ...]:
    found = []
    for item in _list(value, "properties"):
        key, property_value = member(item, "value")
        found.append(Property(type=_text(item, "type"), value=property_value if key in item else UNSET))
    return tuple(found)


def is_base64(text: str) -> bool:
    """Whether Go decodes the text: padded base64 that may be broken into lines."""
    data = _LINE_ENDS.sub("", text) if "\n" in text or "\r" in text else text
    if len(data) % 4:
        return False
    try:
        base64.b64decode(data, validate=True)
    except ValueError:  # also of letters beyond ASCII
        return False
    return True


def _article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


_READERS: Final[Mapping[str, Callable[[dict[str, Any], Origin, _Teller], Blob]]] = {
    PACKAGE: _package,
    CHANNEL: _channel,
    BUNDLE: _bundle,
    DEPRECATIONS: _deprecations,
}

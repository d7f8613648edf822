"""The examples of a CSV: the annotation that holds them, and how they fit the APIs that the CSV owns.

The place of a character of the annotation is known exactly where the lines of the text are found in the file as they
are: block scalars, and texts on one line. Else the place is told within the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from rukpak_py.content import json_stream
from rukpak_py.content.yaml_positions import Positions
from rukpak_py.core import json_text
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import Profile, Severity
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.formats.documents import Document
from rukpak_py.formats.json_fields import entries, mapping, text
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules.first_documents import csvs
from rukpak_py.formats.rules import Family, Place, Problem

FAMILY: Family[Reading] = Family(title="Examples in the ClusterServiceVersion", origin="operator-framework/api")

_BLOCK = re.compile(r"(?:[&!]\S+\s+)*\|")
_EXCERPT = 20  # characters on each side
_KEYS: Final = ("alm-examples", "olm.examples")  # the first one that is there counts
_SHOWN: Final = 40  # characters of a number that is too large
_FORM_HINT: Final = "Write a JSON list with one example object for each owned API, each with `apiVersion` and `kind`."


def text_position(source: bytes, place: Place, text: str, index: int) -> tuple[int, int] | None:
    """Line and column in the file; None where they cannot be told."""
    found = Positions(source).of(place.document, place.path)
    lines = source.decode("utf-8-sig", "replace").replace("\r\n", "\n").split("\n")
    if found is None or found.line > len(lines):
        return None
    above, column = _line_and_column(text, index)
    wanted = text.split("\n")[above]
    first = lines[found.line - 1]
    if _BLOCK.match(first, found.column - 1):
        line = found.line + 1 + above
        written = lines[line - 1] if line <= len(lines) else ""
        indent = len(written) - len(wanted)
        return (line, indent + column + 1) if written.endswith(wanted) and not written[:indent].strip() else None
    start = first.find(text, found.column - 1)
    return (found.line, start + index + 1) if start >= 0 and "\n" not in text else None


def inside(text: str, index: int) -> str:
    line, column = _line_and_column(text, index)
    excerpt = " ".join(text[max(0, index - _EXCERPT) : index + _EXCERPT].split())
    return f"at line {line + 1}, column {column + 1} of the text, near `{excerpt}`"


def _line_and_column(text: str, index: int) -> tuple[int, int]:
    """The line and the column, from 0."""
    return text.count("\n", 0, index), index - text.rfind("\n", 0, index) - 1


@FAMILY.rule(
    "RV1-220",
    severity=Severity.WARNING,
    title="The CSV has annotations",
    hint="Add `metadata.annotations`, at least `alm-examples` with an example of each owned API.",
)
def there_are_annotations(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        if not _annotations(csv):
            is_misplaced = bool(mapping(csv.manifest, "spec", "annotations"))
            hint = "Move `spec.annotations`, which catalogs do not read, to `metadata.annotations`."
            place = csv.place("metadata", "annotations")
            yield Problem(
                message="the CSV has no metadata.annotations", place=place, hint=hint if is_misplaced else None
            )


@FAMILY.rule(
    "RV1-221",
    severity=Severity.WARNING,
    title="The CSV has examples of what it owns",
    hint="Add the annotation `alm-examples`: a JSON list with one example object for each owned API.",
)
def there_are_examples(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        if _provided(csv) and _annotations(csv) and not any(key in _annotations(csv) for key in _KEYS):
            place = csv.place("metadata", "annotations", on_key=True)
            yield Problem(message="the CSV has no annotation alm-examples", place=place)


@FAMILY.rule(
    "RV1-222",
    severity=Severity.WARNING,
    title="Examples are in one annotation",
    hint="Move all examples to `alm-examples`, and remove `olm.examples`: it is not read beside the other.",
)
def examples_stand_in_one_place(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        if all(key in _annotations(csv) for key in _KEYS):
            message = "the CSV has both the annotations alm-examples and olm.examples"
            yield Problem(message=message, place=csv.place("metadata", "annotations", "olm.examples", on_key=True))


@FAMILY.rule(
    "RV1-223",
    title="Examples are JSON",
    hint="Correct the JSON of the annotation: look for a missing or superfluous comma, quote or bracket there.",
    error_only_in=Profile.OPM,
)
def examples_are_json(reading: Reading) -> Iterator[Problem]:
    for found in _all_examples(reading):
        if found.syntax:
            yield Problem(message=f"invalid example: {found.syntax}", place=found.place, at=found.at)


@FAMILY.rule(
    "RV1-224",
    title="Examples are a list of objects",
    hint=_FORM_HINT,
    error_only_in=Profile.OPM,
)
def examples_are_objects(reading: Reading) -> Iterator[Problem]:
    for found in _all_examples(reading):
        if found.form:
            yield Problem(message=f"{found.form}", place=found.place)


@FAMILY.rule(
    "RV1-225",
    title="An example is of an API that the CSV owns",
    hint="Correct apiVersion and kind of the example, remove it, or list its API in the CSV: the CRD in "
    "spec.customresourcedefinitions.owned with name (`<plural>.<group>`), version and kind.",
    error_only_in=Profile.OPM,
)
def examples_are_of_provided_apis(reading: Reading) -> Iterator[Problem]:
    for found in _all_examples(reading):
        provided = _provided(found.csv)
        for api in found.apis:
            if api not in provided:
                yield Problem(message=f"there is an example of {api}, which the CSV does not own", place=found.place)


@FAMILY.rule(
    "RV1-226",
    severity=Severity.WARNING,
    title="Each owned API has an example",
    hint="Add an object of this API to the list in the annotation `alm-examples`.",
)
def provided_apis_have_examples(reading: Reading) -> Iterator[Problem]:
    for found in _all_examples(reading):
        if not found.syntax and not found.form:
            for api, place in _provided(found.csv).items():
                if api not in found.apis:
                    yield Problem(message=f"there is no example of {api}", place=place)


def example_objects(csv: Document) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Examples that can be read, with the place of the annotation."""
    for key in _KEYS:
        written = _annotations(csv).get(key)
        if not isinstance(written, str) or not written:
            continue
        try:
            value = _json(written)
        except (ValueError, ContentError, json_stream.NumberError):
            continue
        place = csv.place("metadata", "annotations", key)
        yield from ((place, one) for one in (value if isinstance(value, list) else []) if _is_object(one))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Examples:
    csv: Document
    place: Place
    syntax: str = ""  # why it is no JSON
    form: str = ""  # why it is no list of objects
    apis: tuple[str, ...] = ()
    at: tuple[int, int] | None = None  # line and column of the file, where the syntax is broken


def _all_examples(reading: Reading) -> Iterator[_Examples]:
    for csv in csvs(reading):
        key = next((key for key in _KEYS if key in _annotations(csv)), None)
        if key is not None and isinstance(written := _annotations(csv)[key], str | None):
            place = csv.place("metadata", "annotations", key)
            yield _read(csv, place, written or "", reading.tree.get(csv.file, b""))


def _read(csv: Document, place: Place, written: str, source: bytes) -> _Examples:
    if not written:
        return _Examples(csv=csv, place=place)
    try:
        value = _json(written)
    except ValueError as error:
        words, at = _broken(written, getattr(error, "pos", 0))
        found = text_position(source, place, written, at) if source else None
        return _Examples(csv=csv, place=place, syntax=words if found else f"{words} {inside(written, at)}", at=found)
    except json_stream.NumberError as error:
        number = str(error)
        start = json_stream.find_number(written, 0, number)
        found = text_position(source, place, written, start) if source else None
        words = f"number {number[:_SHOWN]} is out of range"
        return _Examples(csv=csv, place=place, syntax=words, at=found)
    except ContentError as error:
        return _Examples(csv=csv, place=place, syntax=str(error))
    if not isinstance(value, list | None):
        return _Examples(csv=csv, place=place, form="the examples must be a list")
    wrong = [index for index, example in enumerate(value or []) if not _is_object(example)]
    if wrong:
        return _Examples(
            csv=csv, place=place, form=f"example {wrong[0]} must be an object with `apiVersion` and `kind`"
        )
    return _Examples(csv=csv, place=place, apis=tuple(dict.fromkeys(map(_api_of_object, value or []))))


def _broken(written: str, position: int) -> tuple[str, int]:
    """The error, and the number of the character."""
    try:
        json_text.check(written)
    except json_text.JsonSyntaxError as error:
        return str(error), error.position
    return "a value that no JSON decoder takes", position


def _json(written: str) -> Any:
    data = written.encode(errors="surrogatepass")
    json_stream.check_bounds(data, DEFAULT_LIMITS)
    decoded = json_stream.as_text(data)
    value, end = json_stream.read_value(decoded, json_stream.skip_space(decoded, 0))
    rest = json_stream.skip_space(decoded, end)
    if rest != len(decoded):
        error = ValueError("more than one value")
        error.pos = rest  # type: ignore[attr-defined]  # as JSONDecodeError has it
        raise error
    return value


def _is_object(example: Any) -> bool:
    return bool(text(example, "kind")) and text(example, "apiVersion").count("/") <= 1


def _api_of_object(example: Any) -> str:
    group, _, version = text(example, "apiVersion").rpartition("/")
    return _api(group, version, text(example, "kind"))


def _api(group: str, version: str, kind: str) -> str:
    api_version = f"{group}/{version}" if group else version
    return f"{kind} ({api_version or 'no apiVersion'})"


def _provided(csv: Document) -> dict[str, Place]:
    """The APIs that the CSV owns: definitions by the group in their name, and API services."""
    found: dict[str, Place] = {}
    for path, owned in entries(csv.manifest, "spec", "customresourcedefinitions", "owned"):
        _, dot, group = text(owned, "name").partition(".")
        if dot:
            found.setdefault(_api(group, text(owned, "version"), text(owned, "kind")), csv.place(*path))
    for path, owned in entries(csv.manifest, "spec", "apiservicedefinitions", "owned"):
        api = _api(text(owned, "group"), text(owned, "version"), text(owned, "kind"))
        found.setdefault(api, csv.place(*path))
    return found


def _annotations(csv: Document) -> dict[str, Any]:
    return mapping(csv.manifest, "metadata", "annotations")

"""Advice on a wrong value, where the value itself shows what its author meant. None: it does not."""

import re
from functools import lru_cache
from typing import Any, Final

from rukpak_py.catalog.fields import Defect
from rukpak_py.catalog.similar_names import near
from rukpak_py.core.go_text import quoted
from rukpak_py.core.ranges import Range

_LONGEST_EXAMPLE: Final = 80  # characters of a value that is shown again
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+-]{1,20}+:(?://)?")
_LEADING_V: Final = re.compile(r"(?<![^ <>=!])v(?=[0-9])")
_SHORT_VERSION: Final = re.compile(r"(?<![^ <>=!])([0-9]++)(\.[0-9]++)?(?![^ ])")
_TRANSPORTS: Final = frozenset({"http", "https", "docker", "oci", "docker-archive", "oci-archive"})


def on_image(image: str) -> str | None:
    """Advice on a reference that is none."""
    scheme = _SCHEME.match(image)
    if scheme and scheme[0].rstrip(":/") in _TRANSPORTS:
        return f"Remove `{scheme[0]}`: the name begins with the registry."
    name, at, digest = image.partition("@")
    repository, colon, tag = _split_tag(name)
    if repository.lower() != repository and len(image) <= _LONGEST_EXAMPLE:
        lower = f"{repository.lower()}{colon}{tag}{at}{digest}"
        return f"Repositories are in lower case, as registries serve them: `{lower}`."
    if any(mark in image for mark in ("${", "{{", "$(")):
        return "Write the name itself: nothing replaces variables in a catalog."
    return None


def _split_tag(name: str) -> tuple[str, str, str]:
    """A colon behind the last slash begins the tag; another one stands before a port."""
    slash = name.rfind("/")
    head, colon, tag = name[slash + 1 :].partition(":")
    return name[: slash + 1] + head, colon, tag


def on_range(text: str) -> str | None:
    """Advice on a range that cannot be read."""
    if "," in text:
        corrected = " ".join(part.strip() for part in text.split(","))
        example = corrected if _is_range(corrected) else ">=1.0.0 <1.2.0"
        return f"Conditions are separated by blanks, not by commas: `{example}`."
    if any(word.startswith(("^", "~")) for word in text.split(" ")):
        return "`^` and `~` are not known here: write both bounds, `>=1.2.0 <2.0.0`."
    if "||" in text.replace(" || ", ""):
        return "Write a blank on both sides of `||`."
    corrected = _with_full_versions(text) if len(text) <= _LONGEST_EXAMPLE else text
    if corrected != text and _is_range(corrected):
        return f"Write all three numbers of a version, and no `v` before them: `{corrected}`."
    return None


def _with_full_versions(text: str) -> str:
    return _SHORT_VERSION.sub(lambda found: f"{found[1]}{found[2] or '.0'}.0", _LEADING_V.sub("", text))


def _is_range(text: str) -> bool:
    try:
        Range.parse(text)
    except ValueError:
        return False
    return len(text) <= _LONGEST_EXAMPLE


def on_type(defect: Defect) -> str | None:
    """Advice on a value of another type than its field has."""
    field = next((part for part in reversed(defect.path) if isinstance(part, str)), "")
    match defect.wanted, defect.value:
        case "string", bool() | int() | float():
            return _on_unquoted(field, defect.value)
        case "array", str() as text:
            return f"Write a list: `{field}: [{text}]`." if _is_short(text) else "Write a list."
        case "array", dict():
            return "Write a list: put `- ` before the first field of the object, and indent the others."
        case "object", str() as text if field == "entries":
            return f"Write an object: `- name: {text}`." if _is_short(text) else "Write an object with a `name`."
        case "bool", str("true" | "false" as text):
            return f"Remove the quotes: `{field}: {text}`."
        case _:
            return None


def _on_unquoted(field: str, value: Any) -> str:
    if field == "version" and type(value) is not bool:
        return "Write all three numbers of the version, such as `1.10.0`: YAML reads two as a number, and 1.10 as 1.1."
    text = ("false", "true")[value] if type(value) is bool else str(value)
    return f'Put the value in quotes: `{field}: "{text}"`.'


def _is_short(text: str) -> bool:
    return len(text) <= _LONGEST_EXAMPLE and text.isprintable()


def on_schema(schema: str, known: tuple[str, ...]) -> str | None:
    """Advice on a schema that OLM does not have."""
    found = _similar(schema, known)
    return f"Did you mean {quoted(found)}?" if found else None


def on_field(name: str, known: tuple[str, ...]) -> str | None:
    """Advice on a field that a schema does not have."""
    found = _similar(name, known)
    return f"Did you mean {quoted(found)}? Tools that read the catalog drop unknown fields." if found else None


@lru_cache(maxsize=256)
def _similar(name: str, known: tuple[str, ...]) -> str | None:
    return near(name, known)

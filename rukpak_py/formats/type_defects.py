"""A value of the wrong type: where it is, what is wanted there, and what it is instead."""

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.findings import QUOTED, Fix
from rukpak_py.formats.rules import path_text

_LONGEST_SHOWN = 40


class Wanted(StrEnum):
    STRING = "a string"
    BOOLEAN = "true or false"
    INTEGER = "an integer"
    INTEGER_8 = "an integer of 8 bits"
    INTEGER_32 = "an integer of 32 bits"
    INTEGER_64 = "an integer of 64 bits"
    NUMBER = "a number"
    INTEGER_OR_STRING = "an integer or a string"
    LIST = "a list"
    OBJECT = "an object"
    SCHEMA = "true, false or a JSON schema"
    QUANTITY = "a quantity"
    TIME = "a time as in RFC 3339"
    BASE64 = "a base64 string"
    VERSION = "a semantic version"
    RELEASE = "identifiers separated by dots"
    SHALLOW = "nested less deeply"


# By their bits, for an integer that does not fit; and what to do about it.
INTEGERS: Final = {8: Wanted.INTEGER_8, 32: Wanted.INTEGER_32, 64: Wanted.INTEGER_64}
RANGES: Final = {
    Wanted.INTEGER_8: "Write a number from 0 to 255.",
    Wanted.INTEGER_32: f"Write a number from {-(1 << 31)} to {(1 << 31) - 1}.",
    Wanted.INTEGER_64: f"Write a number from {-(1 << 63)} to {(1 << 63) - 1}.",
}
QUANTITIES: Final = "Write a number with or without a suffix: 500m, 2, 64Mi, 1.5Gi."
TEXTS: Final = frozenset({Wanted.STRING, Wanted.VERSION, Wanted.RELEASE})
# Without leading zeros, which make an octal number in YAML and a syntax error in JSON.
_LITERALS: Final = {
    Wanted.BOOLEAN: re.compile(r"true|false"),
    Wanted.INTEGER: re.compile(r"-?(0|[1-9]\d{0,17})", re.ASCII),
    Wanted.NUMBER: re.compile(r"-?(0|[1-9]\d{0,17})(\.\d{1,18})?", re.ASCII),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class TypeDefect:
    path: Path  # within the value that was decoded
    wanted: Wanted
    got: Any

    @property
    def text(self) -> str:
        return must_be(self.wanted, self.got)

    @property
    def fix(self) -> Fix | None:
        """Quotes that are missing, or too many; no other value is certain to be meant."""
        if self.wanted in TEXTS and isinstance(self.got, bool | int | float):
            return QUOTED
        if isinstance(self.got, str) and is_literal(self.wanted, self.got):
            return Fix(text=self.got, is_string=False)
        return None

    @property
    def message(self) -> str:
        return f"{path_text(self.path)} {self.text}"

    @property
    def message_without_value(self) -> str:
        return f"{path_text(self.path)} must be {self.wanted}, got {kind_of(self.got)}"


def is_literal(wanted: Wanted, text: str) -> bool:
    """Whether the text, without its quotes, is such a value."""
    return wanted in _LITERALS and _LITERALS[wanted].fullmatch(text) is not None


def must_be(wanted: Wanted, got: object, spelled: str | None = None) -> str:
    """`spelled`: how the value is written in its file, where that is known."""
    return f"must be {wanted}, got {described(got, spelled)}"


def described(value: object, spelled: str | None = None) -> str:
    match value:
        case bool():
            return f"boolean {spelled or json.dumps(value)}"
        case int() | float():
            return f"number {(spelled or json.dumps(value))[:_LONGEST_SHOWN]}"
        case str() if len(value) <= _LONGEST_SHOWN:
            return f"string {json.dumps(value, ensure_ascii=False)}"
        case str():
            return "a long string"
        case _:
            return kind_of(value)


def kind_of(value: object) -> str:
    """Without the value, which may be a secret."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"

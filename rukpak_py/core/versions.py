"""Semantic versions as OLM reads them: strictly, or tolerantly (`v1.2` is 1.2.0).

Values and their order are those of the `semver` library. What differs is here alone: OLM's parser is stricter about
size (every number has 64 bits), has a tolerant form, and its messages are known to users. Build metadata is kept and
takes no part in comparisons.
"""

import re

from semver import Version

from rukpak_py.core.go_text import SPACE, quoted

__all__ = ["Version", "release", "strict", "tolerant"]

_DIGITS = re.compile("[0-9]*")
_IDENTIFIER = re.compile("[0-9A-Za-z-]*")
_LARGEST = (1 << 64) - 1
_LONGEST = len(str(_LARGEST))
_PARTS = 3


def strict(text: str) -> Version:
    """A full version without leading zeros, or ValueError."""
    if not text:
        raise ValueError("Version string empty")
    parts = text.split(".", _PARTS - 1)
    if len(parts) != _PARTS:
        raise ValueError("No Major.Minor.Patch elements found")
    rest, plus, build = parts[2].partition("+")
    patch, minus, prerelease = rest.partition("-")
    names = ("Major", "Minor", "Patch")
    major, minor, fix = [_number(name, part) for name, part in zip(names, (*parts[:2], patch), strict=True)]
    for identifier in prerelease.split(".") if minus else ():
        _check_prerelease(identifier)
    for identifier in build.split(".") if plus else ():
        _check_identifier(identifier, "Build meta data")
    return Version(major, minor, fix, prerelease=prerelease or None, build=build or None)


def tolerant(text: str) -> Version:
    """A version with blanks around, a leading `v`, missing parts or leading zeros, or ValueError."""
    parts = text.strip(SPACE).removeprefix("v").split(".", _PARTS - 1)
    parts = [_without_zeros(part) for part in parts]
    if len(parts) < _PARTS:
        if set(parts[-1]) & set("+-"):
            raise ValueError("Short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (_PARTS - len(parts))
    return strict(".".join(parts))


def release(text: str) -> str:
    """The identifiers of a pre-release standing alone, unchanged, or ValueError."""
    for identifier in text.split("."):
        _check_prerelease(identifier)
    return text


def _without_zeros(part: str) -> str:
    if len(part.encode(errors="replace")) <= 1:
        return part
    part = part.lstrip("0")
    return part if part[:1] and part[0] in "0123456789" else f"0{part}"


def _number(name: str, text: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise ValueError(f"Invalid character(s) found in {name.lower()} number {quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        raise ValueError(f"{name} number must not contain leading zeroes {quoted(text)}")
    return _unsigned(text)


def _unsigned(text: str) -> int:
    if not text:
        raise ValueError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > _LONGEST or int(text) > _LARGEST:
        raise ValueError(f"strconv.ParseUint: parsing {quoted(text)}: value out of range")
    return int(text)


def _check_prerelease(identifier: str) -> None:
    if not identifier or not _DIGITS.fullmatch(identifier):
        _check_identifier(identifier, "Prerelease")
    elif len(identifier) > 1 and identifier[0] == "0":
        raise ValueError(f"Numeric PreRelease version must not contain leading zeroes {quoted(identifier)}")
    else:
        _unsigned(identifier)


def _check_identifier(identifier: str, name: str) -> None:
    if not identifier:
        raise ValueError(f"{name} is empty")
    if not _IDENTIFIER.fullmatch(identifier):
        raise ValueError(f"Invalid character(s) found in {name.lower()} {quoted(identifier)}")

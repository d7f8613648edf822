"""Ranges of versions that can be read and mean something else than they seem to.

The grammar drops words of one character, takes every word with the letter x for a wildcard, and forgets comparators
that it does not know in front of one.
"""

import re
from collections.abc import Iterator
from typing import Final

from rukpak_py.core import versions
from rukpak_py.core.go_text import quoted
from rukpak_py.core.ranges import Range
from rukpak_py.core.versions import Version

_COMPARATORS: Final = frozenset({"", "=", "==", "!", "!=", "<", "<=", ">", ">="})
_WORD: Final = re.compile(r"(?:[><=] *+|[^ ])++")
_DROPPED: Final = {
    "|": "a single `|` is dropped, so the conditions on both of its sides must hold: write `||` between alternatives",
    "-": "a dash is dropped, so the version must equal both of its sides: write `>=1.0.0 <=2.0.0`",
    "!": "`!` in front of a blank is dropped, so the version must be equal: write `!=1.0.0`",
}
_HYPHENATED: Final = re.compile(r"[0-9]++\.[0-9]++\.[0-9]++-([0-9]++\.[0-9]++\.[0-9]++)")
_LOWEST: Final = versions.strict("0.0.0-0")
_MOST_SHOWN: Final = 200


def traps(text: str) -> Iterator[str]:
    """Statements about a range that can be read, one for each trap in it."""
    try:
        found = Range.parse(text)
    except ValueError:
        return
    shown = quoted(text[:_MOST_SHOWN])
    told: set[str] = set()
    for word in _WORD.findall(text):
        trap = _trap_of(word.replace(" ", ""))
        if trap is not None and trap not in told:
            told.add(trap)
            yield f"{shown}: {trap}"
    if not holds_something(found):
        yield f"{shown}: no version is in this range"


def holds_something(covered: Range) -> bool:
    """Whether any version is in the range: one of its bounds, the next one after a bound, or the lowest of all."""
    bounds = [one.version for comparisons in covered.alternatives for one in comparisons]
    return any(covered.contains(one) for bound in bounds for one in (bound, _next(bound))) or covered.contains(_LOWEST)


def _next(version: Version) -> Version:
    """The version behind which there is none before this one."""
    if version.prerelease:
        return Version(version.major, version.minor, version.patch, prerelease=f"{version.prerelease}.0")
    return Version(version.major, version.minor, version.patch + 1, prerelease="0")


def _trap_of(word: str) -> str | None:
    if len(word.encode(errors="replace")) <= 1:
        return _DROPPED.get(word, f"{quoted(word)} is dropped, as every word of one character")
    start = next((index for index, character in enumerate(word) if character.isdecimal()), len(word))
    comparator, version = word[:start], word[start:]
    if "x" not in word:
        hyphenated = _HYPHENATED.fullmatch(version)
        if hyphenated is not None and comparator in {"", "=", "=="}:
            return f"{quoted(version)} is one version, a pre-release: write `>=` and `<=` for a range"
        return None
    if comparator not in _COMPARATORS:
        return f"{quoted(comparator)} is ignored in front of a wildcard, so {quoted(word)} is one version"
    if "-" in version or "+" in version:
        return f"the letter x makes {quoted(word)} a wildcard, which only works behind `>=` and `<`"
    if version.endswith(".x.x"):
        return f"{quoted(version)} ends at the next minor version: write `{version.removesuffix('.x')}`"
    if not version.endswith(".x"):
        return f"x in {quoted(word)} is read as 0, because it is not the last part"
    if comparator in {"!", "!="}:
        return f"{quoted(word)} is never true: it asks for a version below and above at once"
    return None

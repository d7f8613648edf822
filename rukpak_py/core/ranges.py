"""Version ranges in OLM's grammar: `>=1.0.0 <2.0.0 || 3.x`.

Blank is "and", ` || ` is "or". A comparator stands in front of a full version; a last part `x` is a wildcard. The
grammar is what its reference reader accepts, oddities included: tokens of one character are dropped (so
`1.0.0 - 2.0.0` is 1.0.0 and 2.0.0), a wildcard behind an unknown comparator is compared as equal. Pre-releases take
part in plain order. Where the reference reader crashes (an alternative without versions), ours refuses.
"""

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from rukpak_py.core.go_text import SPACE, quoted
from rukpak_py.core.versions import Version, strict

_OR = "||"
_COMPARATORS: dict[str, Callable[[Version, Version], bool]] = {
    "": operator.eq,
    "=": operator.eq,
    "==": operator.eq,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "!": operator.ne,
    "!=": operator.ne,
}
# (comparator to write, whether the version behind it is the one past the wildcard) for each comparator before one
_WILDCARDS = {
    ">": ((">=", True),),
    ">=": ((">=", False),),
    "<": (("<", False),),
    "<=": (("<", True),),
    **dict.fromkeys(("", "=", "=="), ((">=", False), ("<", True))),
    **dict.fromkeys(("!", "!="), (("<", False), (">=", True))),
}
_INTEGER = re.compile("[+-]?[0-9]+")
_LARGEST = (1 << 63) - 1
_LONGEST = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class VersionComparison:
    comparator: str
    version: Version

    def holds(self, version: Version) -> bool:
        return _COMPARATORS[self.comparator](version, self.version)


@dataclass(frozen=True, kw_only=True, slots=True)
class Range:
    text: str
    alternatives: tuple[tuple[VersionComparison, ...], ...]

    @classmethod
    def parse(cls, text: str) -> "Range":
        """The range, or ValueError in the words of the reference reader."""
        return _parsed(text)

    def contains(self, version: Version) -> bool:
        return any(all(part.holds(version) for part in parts) for parts in self.alternatives)


@lru_cache(maxsize=256)  # several rules look at one range, one after the other
def _parsed(text: str) -> Range:
    alternatives = [[part for token in tokens for part in _expanded(token)] for tokens in _alternatives(text)]
    return Range(text=text, alternatives=tuple(tuple(map(_comparison, parts)) for parts in alternatives))


def _alternatives(text: str) -> list[list[str]]:
    alternatives: list[list[str]] = [[]]
    tokens = list(_tokens(text))
    if tokens[:1] == [_OR]:
        raise ValueError("First element in range is '||'")
    if not tokens or tokens[-1] == _OR:
        raise ValueError("Last element in range is '||'")
    for token in tokens:
        if token == _OR:
            alternatives.append([])
        else:
            alternatives[-1].append(token)
    if [] in alternatives:
        raise ValueError("Nothing stands between '||' and '||' in range")
    return alternatives


def _tokens(text: str) -> Iterator[str]:
    """Words; blanks behind `>`, `<` and `=` belong to the word. Words of one byte are dropped."""
    for word in re.findall(r"(?:[><=] *|[^ ])+", text):
        if len(word.encode(errors="replace")) > 1:
            yield word.replace(" ", "")


def _expanded(token: str) -> Iterator[str]:
    """A token with a wildcard as tokens without."""
    if "x" not in token:
        yield token
        return
    comparator, version = _split(token)
    lowest = version.replace(".x.x", ".x", 1).replace(".x", ".0", 1)
    if lowest.count(".") == 1:
        lowest += ".0"
    for written, is_past in _WILDCARDS.get(comparator, (("", False),)):
        yield written + (_past(version, lowest) if is_past else lowest)


def _past(version: str, lowest: str) -> str:
    """The first version that the wildcard does not cover; nothing where there is none."""
    parts = version.split(".")
    numbers = lowest.split(".")
    raised = len(parts) - 2  # the part in front of the wildcard
    if parts[-1] != "x" or raised not in {0, 1}:
        return ""
    if not _INTEGER.fullmatch(numbers[raised]) or len(numbers[raised].lstrip("+-0")) > _LONGEST:
        return ""
    number = int(numbers[raised])
    if not -_LARGEST - 1 <= number <= _LARGEST:
        return ""
    numbers[raised] = str(number + 1 if number < _LARGEST else -_LARGEST - 1)
    return ".".join(numbers)


def _split(token: str) -> tuple[str, str]:
    start = next((index for index, character in enumerate(token) if character.isdecimal()), None)
    if start is None:
        raise ValueError(f"Could not get version from string: {quoted(token)}")
    return token[:start].strip(SPACE), token[start:]


def _comparison(token: str) -> VersionComparison:
    comparator, text = _split(token)
    problem = f"Could not parse Range {quoted(token)}: Could not parse"
    if comparator not in _COMPARATORS:
        raise ValueError(f"{problem} comparator {quoted(comparator)} in {quoted(comparator + text)}")
    try:
        return VersionComparison(comparator=comparator, version=strict(text))
    except ValueError as error:
        raise ValueError(f"{problem} version {quoted(text)} in {quoted(comparator + text)}: {error}") from error

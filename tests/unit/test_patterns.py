"""No pattern of the product takes time out of proportion to its text, whatever the text.

Each pattern runs against texts that are made from it (`tests.hostile.texts`) by the counting matcher, in the ways in
which the product runs it. Few steps for each character are fine. Where there are more, the same text at twice its
length decides: a pattern whose steps grow faster than its text reads again and again what it has read.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.backtracking import Budget, Matcher, TooManyStepsError
from tests.hostile.texts import FIXED, as_read_by, shapes_of
from tests.pattern_collection import ALL_METHODS, Found, collected

SIZE = 300
FEW_STEPS = 5  # for each character; a search for a word takes two or three
MOST_STEPS = 50
GROWTH = 2.6  # of the steps where the text doubles; 2 for a pattern that is linear, 4 for one that is quadratic
SOME_STEPS = 10_000  # that bounded repeats may take beside that, in a short text


def _steps(matcher: Matcher, method: str, text: Any, most: int) -> int:
    budget = Budget(most=most)
    result = getattr(matcher, method)(text, budget)
    if method == "finditer":
        for _ in result:
            pass
    return budget.spent


def slow_text(pattern: re.Pattern[Any], methods: frozenset[str] = ALL_METHODS) -> str | None:
    """The beginning of the first text for which the pattern takes too many steps, and the method."""
    matcher = Matcher(pattern)
    texts: list[Callable[[int], str]] = [*(shape.text for shape in shapes_of(pattern)), *FIXED.values()]
    ways = ((text, method) for text in texts for method in sorted(methods))
    return next((f"{method}: {text(40)!r}" for text, method in ways if _is_slow(matcher, method, pattern, text)), None)


def _is_slow(matcher: Matcher, method: str, pattern: re.Pattern[Any], text: Callable[[int], str]) -> bool:
    short, long = (as_read_by(pattern, text(size)) for size in (SIZE, 2 * SIZE))
    try:
        few = _steps(matcher, method, short, MOST_STEPS * len(short) + SOME_STEPS)
        if few <= FEW_STEPS * len(short) + 200:
            return False
        many = _steps(matcher, method, long, MOST_STEPS * len(long) + SOME_STEPS)
    except TooManyStepsError:
        return True
    return many > GROWTH * few


@pytest.mark.parametrize("found", collected(), ids=str)
def test_a_pattern_takes_time_in_proportion_to_its_text(found: Found) -> None:
    slow = slow_text(found.pattern, found.methods)
    assert slow is None, "use possessive repeats (`*+`), bounded ones, or a loop of your own"


_OLD_ATOM = r'[^\s\x00-\x1f\x7f()<>\[\]:;@\\,."]+'
_OLD_DOT_ATOM = rf"{_OLD_ATOM}(?:\.{_OLD_ATOM})*"
_OLD_QUOTED = r'"(?:[^"\\]|\\.)*"'
_OLD_ADDRESS = rf"(?:{_OLD_DOT_ATOM}|{_OLD_QUOTED})@(?:{_OLD_DOT_ATOM}|\[[^\[\]\\]*\])"
_OLD_PHRASE = rf"(?:(?:{_OLD_ATOM}|{_OLD_QUOTED})(?:[ \t.]*(?:{_OLD_ATOM}|{_OLD_QUOTED}))*[ \t.]*)?"
OLD_EMAIL = rf"[ \t]*(?:{_OLD_ADDRESS}|{_OLD_PHRASE}<{_OLD_ADDRESS}>)[ \t]*(?:\([^()]*\))?[ \t]*"


@pytest.mark.parametrize(
    ("pattern", "flags", "method"),
    [
        (r"repository .*not found", re.IGNORECASE, "search"),
        (r"transport '.*' not allowed", re.IGNORECASE, "search"),
        (r"immutable|updates? (?:to|may) .*forbidden", 0, "search"),
        (r"\{\{-?(?!-?\s*/\*)(.*?)-?\}\}", re.DOTALL, "finditer"),
        (OLD_EMAIL, 0, "fullmatch"),
        (r'"(?:[^"\\]++|\\.)*+"|[\[\]{},:]', re.DOTALL, "finditer"),
        (r"bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})", 0, "fullmatch"),
        (r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eE]*[-+]?[0-9]*)", 0, "fullmatch"),
        (r"(a|a)*b", 0, "match"),
    ],
)
def test_patterns_that_were_slow_are_found(pattern: str, flags: int, method: str) -> None:
    assert slow_text(re.compile(pattern, flags), frozenset({method}))


def test_patterns_are_found_in_constants_and_in_calls() -> None:
    found = {one.pattern.pattern: one for one in collected()}

    assert "fullmatch" in found[r"sha256:([0-9a-f]{64})"].methods
    assert found[r"mismatched algorithms: client \w{1,20}; server (sha1|sha256)\b"].methods == {"search"}
    assert len(found) > 150

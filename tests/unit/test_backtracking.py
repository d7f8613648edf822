"""The counting matcher is a model of Python's engine: here they are compared."""

import re
from typing import Any

import pytest

from tests.backtracking import Budget, Matcher, TooManyStepsError

ENOUGH = 100_000

ORDINARY: list[tuple[str | bytes, int, list[str] | list[bytes]]] = [
    (r"a.*?b", 0, ["xxaqqb b", "a\nb", "ab", "b"]),
    (r"a.*b", re.DOTALL, ["xxaqqb b", "a\nb\nb", "ba"]),
    (r"(?:ab|a)*+b", 0, ["ababb", "abab", "aab", ""]),
    (r"(?>a|ab)c", 0, ["abc", "ac"]),
    (r"(?:a|ab)(?:c|bcd)d*", 0, ["abcd", "abcdd", "acd"]),
    (r"(\w+) \1\b", 0, ["hello hello x", "abc abcd", "a b"]),
    (r"(?<!x)b+\b", 0, ["xbb bb", "xb", "b"]),
    (r"(?<=ab)c|^d", 0, ["abc", "bc", "d", "xd"]),
    (r'"(?:[^"\\]++|\\.)*+"', 0, ['say "a\\"b" c', '"open', '""']),
    (r"^x$", re.MULTILINE, ["y\nx\nz", "x", "x\n"]),
    (r"^x$", 0, ["y\nx\n", "x\n", "x"]),
    (r"\Ax\Z", re.MULTILINE, ["x\n", "x", "y\nx"]),
    (r"straße|b{2,3}?", re.IGNORECASE, ["bbb STRAßE", "STRASSE"]),
    (r"[^\W\d_]+", re.ASCII, ["1é_ab", "éé"]),
    (r"[^\W\d_]+", 0, ["1é_ab", "_1"]),
    (r"(a)?(?(1)b|c)", 0, ["ab", "c", "ac", "b"]),
    (r"(?:a?){2,4}b", 0, ["aaab", "b", "aaaaa"]),
    (r"(?:a*)*b", 0, ["aaab", "b", ""]),
    (r"(?:(?:a|b){2})+c?", 0, ["ababac", "aba", "abac"]),
    (r"(?s:.)(?-i:A)", re.IGNORECASE, ["\nA", "\na", "xA"]),
    (r"x(?=y)|x(?!z)", 0, ["xz", "xy", "xx"]),
    (r"\Bx\B|\bx\b", 0, ["axa", "x", "ax x"]),
    (rb"[\x80-\xff]+\d", 0, [b"a\xff\xfe1", b"\xff"]),
    (r"(?:-|\+)?(?:0|[1-9][0-9]{0,3})(?:\.[0-9]+?)?", 0, ["-120.55", "+0", "99999", "x"]),
]


@pytest.mark.parametrize(("pattern", "flags", "texts"), ORDINARY, ids=[repr(one[0]) for one in ORDINARY])
def test_matcher_finds_the_matches_of_re(pattern: str | bytes, flags: int, texts: list[Any]) -> None:
    compiled: re.Pattern[Any] = re.compile(pattern, flags)
    matcher = Matcher(compiled)
    for text in texts:
        for method in ("match", "search", "fullmatch"):
            expected = getattr(compiled, method)(text)
            found = getattr(matcher, method)(text, Budget(most=ENOUGH))
            assert (found and found[:2]) == (expected and expected.span()), (method, text)
        spans = [one[:2] for one in matcher.finditer(text, Budget(most=ENOUGH)) if one.end > one.start]
        assert spans == [one.span() for one in compiled.finditer(text) if one.end() > one.start()], text


def _steps(pattern: str, text: str, flags: int = 0, method: str = "search") -> int:
    budget = Budget(most=2_000_000)
    found = getattr(Matcher(re.compile(pattern, flags)), method)(text, budget)
    assert found is None
    return budget.spent


def test_a_search_that_reads_to_the_end_from_each_start_is_quadratic() -> None:
    short, long = (_steps("repository .*not found", "repository " * count) for count in (20, 40))

    assert long > 3.5 * short


def test_a_search_for_words_is_linear() -> None:
    short, long = (_steps("not our ref|unadvertised object", "not our re" * count) for count in (20, 40))

    assert long < 2.5 * short


def test_nested_repeats_use_up_any_budget() -> None:
    with pytest.raises(TooManyStepsError):
        _steps(r"(?:a+)+b", "a" * 30, method="fullmatch")


def test_possessive_repeats_give_nothing_back() -> None:
    short, long = (_steps(r"(?:a++|c)*+b", "a" * count, method="fullmatch") for count in (500, 1000))

    assert long < 2.5 * short


def test_a_budget_stops_in_the_middle() -> None:
    budget = Budget(most=100)

    with pytest.raises(TooManyStepsError):
        Matcher(re.compile("a*b")).search("a" * 1000, budget)
    assert budget.spent > 100

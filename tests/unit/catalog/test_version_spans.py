"""Versions within a range, found by position, are those that the range contains."""

from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.catalog.upgrades.bundle_order import precedence
from rukpak_py.catalog.upgrades.version_spans import Untaken, VersionIndex, spans_of
from rukpak_py.core.ranges import Range
from rukpak_py.core.versions import strict

NUMBERS = st.integers(0, 2).map(str)
PRERELEASES = st.sampled_from(["", "-0", "-1", "-10", "-a", "-a.1", "-a.b", "-alpha", "-A", "-1a", "+7", "-a+7"])
VERSIONS = st.builds("{}.{}.{}{}".format, NUMBERS, NUMBERS, NUMBERS, PRERELEASES)
CONDITIONS = st.builds("{}{}".format, st.sampled_from(["", "=", "==", "!", "!=", "<", "<=", ">", ">="]), VERSIONS)
RANGES = st.lists(st.lists(CONDITIONS, min_size=1, max_size=4).map(" ".join), min_size=1, max_size=4).map(" || ".join)


@given(st.lists(VERSIONS, max_size=12), RANGES)
def test_positions_are_those_of_the_versions_that_the_range_contains(versions: list[str], text: str) -> None:
    parsed = [strict(version) for version in versions]
    wanted = Range.parse(text)
    expected = [position for position, version in enumerate(parsed) if wanted.contains(version)]
    assert VersionIndex(parsed).within(wanted) == expected


@given(VERSIONS, VERSIONS)
def test_precedence_orders_as_versions_do(one: str, other: str) -> None:
    first, second = strict(one), strict(other)
    assert (precedence(first) < precedence(second)) is (first < second)
    assert (precedence(first) == precedence(second)) is (first == second)


def test_bundle_without_a_version_is_in_no_range() -> None:
    assert VersionIndex([None, strict("1.0.0"), None]).within(Range.parse(">=0.0.0")) == [1]


@given(st.lists(VERSIONS, max_size=12), RANGES)
def test_spans_over_sorted_versions_cover_those_that_the_range_contains(versions: list[str], text: str) -> None:
    ordered = sorted((precedence(strict(version)), version) for version in versions)
    wanted = Range.parse(text)
    covered = {number for span in spans_of([key for key, _ in ordered], wanted) for number in range(*span)}
    assert covered == {number for number, (_, one) in enumerate(ordered) if wanted.contains(strict(one))}


def test_position_is_taken_once() -> None:
    left = Untaken(6)
    assert list(left.take(1, 4, but=2)) == [1, 3]
    assert list(left.take(0, 6, but=5)) == [0, 2, 4]
    assert list(left.take(0, 6, but=9)) == [5]
    assert list(left.take(0, 6, but=9)) == []

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.core.ranges import Range
from rukpak_py.core.versions import strict

VERSIONS = [
    "0.9.0",
    "1.0.0-a",
    "1.0.0",
    "1.0.1",
    "1.1.0",
    "1.2.0",
    "1.2.3",
    "1.3.0-a",
    "1.3.0",
    "2.0.0-a",
    "2.0.0",
    "3.0.0",
]


def inside(text: str) -> str:
    found = Range.parse(text)
    return " ".join(version for version in VERSIONS if found.contains(strict(version)))


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("1.2.3", "1.2.3"),
        ("==1.2.3", "1.2.3"),
        (">=1.2.3 <2.0.0", "1.2.3 1.3.0-a 1.3.0 2.0.0-a"),
        (">=  1.2.3 < 2.0.0", "1.2.3 1.3.0-a 1.3.0 2.0.0-a"),
        ("<1.0.0 || >=3.0.0", "0.9.0 1.0.0-a 3.0.0"),
        ("!=1.2.3 !2.0.0 >1.3.0", "2.0.0-a 3.0.0"),
        ("1.x", "1.0.0 1.0.1 1.1.0 1.2.0 1.2.3 1.3.0-a 1.3.0 2.0.0-a"),
        ("1.2.x", "1.2.0 1.2.3 1.3.0-a"),
        ("1.x.x", "1.0.0 1.0.1"),  # one .x.x counts as one wildcard, of the patch
        (">1.x", "2.0.0 3.0.0"),
        (">=1.2.x", "1.2.0 1.2.3 1.3.0-a 1.3.0 2.0.0-a 2.0.0 3.0.0"),
        ("<1.2.x", "0.9.0 1.0.0-a 1.0.0 1.0.1 1.1.0"),
        ("<=1.2.x", "0.9.0 1.0.0-a 1.0.0 1.0.1 1.1.0 1.2.0 1.2.3 1.3.0-a"),
        ("!=1.x", ""),  # below and above at once
        ("1.0.0 - 2.0.0", ""),  # the dash is dropped: both at once
        ("! 1.2.3", "1.2.3"),  # so is the mark
        ("a1.x", "1.0.0"),
        ("1.2.3+build", "1.2.3"),
    ],
)
def test_a_range_holds_what_its_reference_reader_says(text: str, versions: str) -> None:
    assert inside(text) == versions


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "Last element in range is '||'"),
        ("x", "Last element in range is '||'"),
        ("*", "Last element in range is '||'"),
        ("1.2.3 ||", "Last element in range is '||'"),
        ("|| 1.2.3", "First element in range is '||'"),
        ("1.2.3 || || 2.0.0", "Nothing stands between '||' and '||' in range"),  # the reference crashes
        (
            "1.2",
            'Could not parse Range "1.2": Could not parse version "1.2" in "1.2": No Major.Minor.Patch elements found',
        ),
        ("^1.2.3", 'Could not parse Range "^1.2.3": Could not parse comparator "^" in "^1.2.3"'),
        ("~1.2.3", 'Could not parse Range "~1.2.3": Could not parse comparator "~" in "~1.2.3"'),
        ("v1.2.3", 'Could not parse Range "v1.2.3": Could not parse comparator "v" in "v1.2.3"'),
        (">1.0.0 ||<2.0.0", 'Could not parse Range "||<2.0.0": Could not parse comparator "||<" in "||<2.0.0"'),
        ("latest", 'Could not get version from string: "latest"'),
        ("1.x.3", 'Could not get version from string: "<"'),
        ("9223372036854775808.x", 'Could not get version from string: "<"'),
        (
            "1.X",
            'Could not parse Range "1.X": Could not parse version "1.X" in "1.X": No Major.Minor.Patch elements found',
        ),
        (
            "1.2.3, 2.0.0",
            (
                'Could not parse Range "1.2.3,": Could not parse version "1.2.3," in "1.2.3,": '
                'Invalid character(s) found in patch number "3,"'
            ),
        ),
    ],
)
def test_a_range_is_refused_in_the_words_of_its_reference_reader(text: str, error: str) -> None:
    with pytest.raises(ValueError) as refused:
        Range.parse(text)
    assert str(refused.value) == error


small = st.integers(min_value=0, max_value=3)
plain = st.tuples(small, small, small).map(lambda parts: ".".join(map(str, parts)))


@given(plain, plain, plain)
def test_and_is_both_and_or_is_either(low: str, high: str, version: str) -> None:
    is_above, is_below = strict(version) >= strict(low), strict(version) < strict(high)
    assert Range.parse(f">={low} <{high}").contains(strict(version)) == (is_above and is_below)
    assert Range.parse(f">={low} || <{high}").contains(strict(version)) == (is_above or is_below)


@given(st.text(alphabet="0123x.|<>=!- a~\n\u0663", max_size=30))
def test_anything_else_than_a_range_is_a_value_error(text: str) -> None:
    try:
        found = Range.parse(text)
    except ValueError:
        return
    assert all(parts for parts in found.alternatives)


ALL = [strict(version) for version in VERSIONS]
ranges = st.lists(
    st.builds("{}{}".format, st.sampled_from(["", "=", "!=", "<", "<=", ">", ">="]), st.sampled_from(VERSIONS)),
    min_size=1,
    max_size=3,
).map(" ".join)


@given(ranges, ranges)
def test_alternatives_are_the_union_of_their_ranges(one: str, other: str) -> None:
    both, first, second = (Range.parse(text) for text in (f"{one} || {other}", one, other))
    assert [both.contains(version) for version in ALL] == [first.contains(v) or second.contains(v) for v in ALL]


@given(ranges, ranges)
def test_conditions_are_the_intersection_of_their_ranges(one: str, other: str) -> None:
    both, first, second = (Range.parse(text) for text in (f"{one} {other}", one, other))
    assert [both.contains(version) for version in ALL] == [first.contains(v) and second.contains(v) for v in ALL]


@given(st.sampled_from(VERSIONS), st.sampled_from(VERSIONS))
def test_versions_between_two_of_a_bounded_range_are_in_it(low: str, high: str) -> None:
    inside_of = [Range.parse(f">={low} <{high}").contains(version) for version in sorted(ALL)]
    assert "".join("x" if one else " " for one in inside_of).strip().count(" ") == 0


@pytest.mark.parametrize("text", ["1.x" * 5000, "<" * 20_000, "|| " * 10_000, ">=1.0.0 " * 5000, "x" * 20_000])
def test_long_text_is_read_or_refused_in_bounded_time(text: str) -> None:
    start = time.process_time()
    with contextlib.suppress(ValueError):
        Range.parse(text)
    assert time.process_time() - start < 2


COLUMNS = [
    "0.9.0",
    "1.0.0-alpha",
    "1.0.0-rc.1",
    "1.0.0",
    "1.0.0+b",
    "1.0.1",
    "1.1.0",
    "1.2.0",
    "1.9.9",
    "2.0.0-rc.1",
    "2.0.0",
    "3.1.0",
]
TRUTH = {
    "000001111111": [">1.0.0", ">=1.x.1"],
    "000111111111": [">=1.0.0", ">=1.0.0 a", ">=1.x"],
    "111000000000": ["<1.0.0", "<1.x"],
    "111110000000": ["<=1.0.0"],
    "000110000000": ["1.0.0", "=1.0.0", "==1.0.0", "! 1.0.0", "x.1.0", "^1.x", ">=v1.x"],
    "111001111111": ["!1.0.0", "!=1.0.0", "!= 1.0.0"],
    "000111111100": [">=1.0.0 <2.0.0", "1.x"],
    "000111111000": [">=1.0.0 <2.0.0-0"],
    "000111011100": [">=1.0.0 <2.0.0 !1.1.0"],
    "111000000011": ["<1.0.0 || >=2.0.0"],
    "000111111001": [">= 1.0.0 <= 1.9.9 || = 3.1.0"],
    "000000000010": [">=1.0.0 2.0.0"],
    "000000010000": ["~1.2.x"],
    "000111000000": ["1.x.x", "1.0.x"],
    "000000000011": [">1.x"],
    "111111111100": ["<=1.x"],
    "000000111111": [">1.0.x"],
    "111111000000": ["<=1.0.x"],
    "000000000000": ["!=1.x", "!1.0.x", "1.0.0 - 2.0.0", "<1.0.0 | >=2.0.0"],
    "001111111111": [">=1.0.0-next"],
    "110000000000": ["<1.0.0-next"],
}


@pytest.mark.parametrize(("bits", "text"), [(bits, text) for bits, texts in TRUTH.items() for text in texts])
def test_truth_table_of_the_reference_reader(bits: str, text: str) -> None:
    found = Range.parse(text)
    assert "".join(str(int(found.contains(strict(version)))) for version in COLUMNS) == bits

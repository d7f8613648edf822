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

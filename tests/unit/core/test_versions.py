import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.core import versions

numbers = st.integers(min_value=0, max_value=(1 << 64) - 1)
identifiers = st.one_of(numbers.map(str), st.from_regex(r"[0-9]*[a-zA-Z-][0-9A-Za-z-]*", fullmatch=True))
tails = st.lists(identifiers, max_size=3).map(".".join)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1.2.3", "1.2.3"),
        ("v1.2", "1.2.0"),
        ("1", "1.0.0"),
        ("01.02.003", "1.2.3"),
        (" 1.2.3-rc.1+b-c.01\n", "1.2.3-rc.1+b-c.01"),
        ("00", "0.0.0"),
        ("1.2.-a", "1.2.0-a"),
    ],
)
def test_an_operators_version_is_read_tolerantly_and_written_in_full(text: str, version: str) -> None:
    assert str(versions.tolerant(text)) == version


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("1.", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("0abc", 'Invalid character(s) found in major number "0abc"'),
        ("vv1", 'Invalid character(s) found in major number "0v1"'),
        ("1.\u00e9", 'Invalid character(s) found in minor number "0\u00e9"'),  # two bytes are more than one digit
        ("4.2.2.6", 'Invalid character(s) found in patch number "2.6"'),
        ("1.2.3 a", 'Invalid character(s) found in patch number "3 a"'),
        ("3.64.0-04", 'Numeric PreRelease version must not contain leading zeroes "04"'),
        ("1.2.3-a_b", 'Invalid character(s) found in prerelease "a_b"'),
        ("1.2.3-", "Prerelease is empty"),
        ("1.2.3+", "Build meta data is empty"),
        ("1.2.3+a_b", 'Invalid character(s) found in build meta data "a_b"'),
        ("1.2-alpha", "Short version cannot contain PreRelease/Build meta data"),
        (f"{1 << 64}.0.0", 'strconv.ParseUint: parsing "18446744073709551616": value out of range'),
    ],
)
def test_an_unreadable_version_is_refused_in_the_words_of_go(text: str, error: str) -> None:
    with pytest.raises(ValueError) as refused:
        versions.tolerant(text)
    assert str(refused.value) == error


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "Version string empty"),
        ("1.2", "No Major.Minor.Patch elements found"),
        ("v1.2.3", 'Invalid character(s) found in major number "v1"'),
        ("1.02.3", 'Minor number must not contain leading zeroes "02"'),
        ("1.2.3\n", r'Invalid character(s) found in patch number "3\n"'),
        ("\xa01.2.3", r'Invalid character(s) found in major number "\u00a01"'),
    ],
)
def test_a_strict_version_has_three_parts_and_nothing_around(text: str, error: str) -> None:
    with pytest.raises(ValueError) as refused:
        versions.strict(text)
    assert str(refused.value) == error


@pytest.mark.parametrize("text", ["1", "a.b", "0a.1-2", "-"])
def test_a_release_stays_as_it_is(text: str) -> None:
    assert versions.release(text) == text


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "Prerelease is empty"),
        ("a..b", "Prerelease is empty"),
        ("01", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("a+b", 'Invalid character(s) found in prerelease "a+b"'),
    ],
)
def test_a_release_that_is_no_prerelease_is_refused(text: str, error: str) -> None:
    with pytest.raises(ValueError) as refused:
        versions.release(text)
    assert str(refused.value) == error


def test_versions_are_ordered_by_precedence() -> None:
    texts = ["1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0-A", "1.0.0-a", "1.0.0-a.1", "1.0.0-b", "1.0.0", "1.0.1", "1.10.0"]
    assert [str(version) for version in sorted(map(versions.strict, reversed(texts)))] == texts
    assert versions.strict("1.0.0+a") == versions.strict("1.0.0+b")


@given(numbers, numbers, numbers, tails, tails)
def test_a_valid_version_reads_as_itself_both_ways(major: int, minor: int, patch: int, pre: str, build: str) -> None:
    text = f"{major}.{minor}.{patch}{pre and '-' + pre}{build and '+' + build}"
    assert str(versions.strict(text)) == str(versions.tolerant(f" v0{text}")) == text


@given(st.text(alphabet="0123v.x-+a \n\u00e9\u0663", max_size=20))
def test_anything_else_than_a_version_is_a_value_error(text: str) -> None:
    for read in (versions.strict, versions.tolerant):
        try:
            version = read(text)
        except ValueError:
            continue
        assert versions.strict(str(version)) == version

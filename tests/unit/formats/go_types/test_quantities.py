from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rukpak_py.formats.go_types.quantity import canonical

DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
NANO = Fraction(1, 10**9)

numbers = st.from_regex(r"[+-]?[0-9]{1,25}(\.[0-9]{0,12})?", fullmatch=True)
suffixes = st.sampled_from([*list(DECIMAL)[:-1], *BINARY, "e3", "E-7", "e+02", "e-12"])


def meaning(text: str) -> Fraction:
    number = text.rstrip("numkMGTPEKi")
    suffix = text[len(number) :]
    if suffix in BINARY:
        return Fraction(number) * (1 << BINARY[suffix])
    number = number.replace(".e", "e").replace(".E", "E")
    return Fraction(number.rstrip(".") or "0") * Fraction(10) ** DECIMAL[suffix]


def spelled(text: str) -> str:
    """Spell a number as Fraction reads it: digits behind the point, or no point."""
    return text.replace(".", ".0") if "." in text and not any(c.isdigit() for c in text.partition(".")[2][:1]) else text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        ("0.1", "100m"),
        ("2000", "2k"),
        ("0.5Ki", "512"),
        ("0.1Ki", "102400m"),
        (0.5, "500m"),
        (1e-07, "100e-9"),
        (1e21, "1e+21"),
        (2000, "2k"),
        ("1e10", "10e9"),
        ("1e-12", "1e-9"),  # a nano is the least
        ("-1.0000000001", "-1000000001n"),
        ("10Ei", "9223372036854775807"),
        ("-5082.0416Ei", "-9223372036854775807"),
        ("1000E", "1"),  # Go has no suffix for it
    ],
)
def test_a_quantity_is_written_in_its_canonical_form(value: object, text: str) -> None:
    assert canonical(value) == text


@pytest.mark.parametrize("text", ["01", "+5", "1e3", "1E03", "5.m", "1.250", "9.Ki", "0001.250", "+1e18", "1.1e1000"])
def test_a_text_that_has_nothing_to_even_out_stays_as_it_was_written(text: str) -> None:
    assert canonical(text) == text


@pytest.mark.parametrize("text", ["0", "-0", "00.0Ki", "0e5", "m", ".", "+", "e3", "Ti"])
def test_every_zero_is_written_alike(text: str) -> None:
    assert canonical(text) == "0"


@pytest.mark.parametrize(
    "value",
    [
        "",
        "1 Mi",
        "1e3Mi",
        "\u0661",
        "1\n",  # escaped in JSON, so it is not the white space that Go removes
        True,
        {},
        "1K",
        "1e",
        "1Mi1",
        "1e9223372036854775808",
        "Ei",
        ".e-10",
    ],
)
def test_a_malformed_quantity_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        canonical(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1e2147483647", "10e2147483646"),
        ("1e-2147483648", "1e-9"),
        ("1e9999999999", "10e1410065406"),  # Go keeps 32 bits of the exponent
        ("9" * 1_000_000 + "Ki", "9223372036854775807"),
        ("1e" + "0" * 100_000 + "5", "100e3"),
        ("1" + "0" * 1_000_002 + "n", "1"),  # and a power that has no suffix
    ],
)
def test_a_huge_quantity_costs_no_more_than_its_text(value: str, text: str) -> None:
    assert canonical(value) == text


@given(st.text(alphabet="0123456789.eEinumkKMGTP+- ", max_size=12))
@example("--0")
def test_anything_else_than_a_quantity_is_a_value_error(text: str) -> None:
    try:
        once = canonical(text)
    except ValueError as error:
        assert str(error) == "not a quantity"  # noqa: PT017 the other outcome is checked below
    else:
        assert canonical(once) == once


@given(numbers, suffixes)
def test_the_number_stays_the_same_except_for_rounding_up_to_a_nano(number: str, suffix: str) -> None:
    before = meaning(spelled(number + suffix))
    after = meaning(spelled(canonical(number + suffix)))
    if suffix in BINARY and abs(before) > 2**63 - 1:
        assert abs(after) == 2**63 - 1
    else:
        assert abs(before) <= abs(after) < abs(before) + NANO
        assert before * after >= 0

"""Advice on ranges that cannot be read."""

import pytest

from rukpak_py.catalog.checks.advice import on_range


@pytest.mark.parametrize(
    ("text", "corrected"),
    [
        (">=1.2", "`>=1.2.0`"),
        ("v1.2.0", "`1.2.0`"),
        (">=v1 <2.5", "`>=1.0.0 <2.5.0`"),
        (">=1.0.0, <2.0.0", "`>=1.0.0 <2.0.0`"),
        (">=1.0.0 ~1.2.0", "both bounds"),
    ],
)
def test_advice_shows_the_corrected_range(text: str, corrected: str) -> None:
    found = on_range(text)
    assert found is not None
    assert corrected in found


@pytest.mark.parametrize("text", ["latest", "", "1.2.0.0", "=>1.2", f">={'1' * 10_000}"])
def test_range_that_does_not_show_its_meaning_gets_no_advice(text: str) -> None:
    assert on_range(text) is None

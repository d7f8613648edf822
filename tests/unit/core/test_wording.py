"""Messages name some objects, count the rest, and keep statements about several of them apart."""

import pytest

from rukpak_py.core.text import counted, joined, named


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (counted(1), "1 object"),
        (counted(0), "0 objects"),
        (counted(2, "CRD"), "2 CRDs"),
        (named([]), ""),
        (named("ab"), "a, b"),
        (named("abcd", 2), "a, b and 2 more"),
        (joined([]), ""),
        (joined(["a failed; do x"]), "a failed; do x"),
        (joined(["a failed; do x", "b failed; do y"]), "a failed; do x && b failed; do y"),
    ],
)
def test_wording(text: str, expected: str) -> None:
    assert text == expected

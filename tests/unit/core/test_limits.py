"""Limits: what the environment may say, and what a user reads when one is hit."""

import re
from pathlib import Path

import pytest

from rukpak_py.core.errors import RukPakError
from rukpak_py.core.limits import GIB, KIB, LIMIT_NAMES, MIB, Limits, description_of, readable_size, variable_of

BYTES = ("_bytes", "inflation_floor")


@pytest.mark.parametrize("name", LIMIT_NAMES)
def test_every_limit_can_be_set_by_the_variable_that_its_message_names(name: str) -> None:
    variable = f"RUKPAK_LIMIT_{name.upper()}"
    limits = Limits.from_environment({variable: "7"})
    assert limits == Limits(**{name: 7})
    assert f"the thing exceeds the limit of 7 {'bytes ' * name.endswith('_bytes')}({variable} sets it)" == str(
        limits.exceeded(name, "the thing")
    )


def test_the_page_for_users_has_every_limit_with_its_description_in_the_order_of_the_table() -> None:
    page = (Path(__file__).parents[3] / "docs" / "limits.md").read_text()
    limits = Limits()
    shown = [
        (variable_of(name), readable_size(value) if name.endswith(BYTES) else str(value), description_of(name))
        for name in LIMIT_NAMES
        if (value := getattr(limits, name))
    ]
    assert re.findall(r"^\| `(RUKPAK_LIMIT_\w+)` \| (.*?) \| (.*?) \|$", page, re.MULTILINE) == shown


def test_an_environment_that_says_nothing_leaves_the_defaults() -> None:
    assert Limits.from_environment({}) == Limits()
    assert Limits.from_environment({variable_of("file_bytes"): "", "RUKPAK_LIMIT_OTHER": "x"}) == Limits()


@pytest.mark.parametrize("text", ["0", "-1", "64Mi", "1.5", " 1", "1\n", "9" * 5000, "٣"])
def test_invalid_limit_is_refused_with_its_variable(text: str) -> None:
    with pytest.raises(RukPakError, match=r"RUKPAK_LIMIT_FILE_BYTES: .* is not a positive number"):
        Limits.from_environment({variable_of("file_bytes"): text})


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (1, "1 byte"),
        (100_000, "100000 bytes"),
        (KIB, "1 KiB"),
        (1536, "1536 bytes"),
        (1536 * KIB, "1536 KiB"),
        (32 * MIB, "32 MiB"),
        (4 * GIB, "4 GiB"),
    ],
)
def test_sizes_are_readable_and_exact(size: int, shown: str) -> None:
    assert readable_size(size) == shown


def test_no_two_limits_have_the_same_description() -> None:
    assert len({description_of(name) for name in LIMIT_NAMES}) == len(LIMIT_NAMES)

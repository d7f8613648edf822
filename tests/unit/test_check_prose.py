"""The check of docstrings, comments and names that `make lint` runs."""

import pytest

from tools import check_prose


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('"""Nobody reads this."""', [1]),
        ('"""A file.\n\nIt helps\nwhoever reads."""', [4]),
        ("x = 1\ny = 2  # somebody else's", [2]),
        ("def told_by_nobody() -> None: ...", [1]),
        ('"""What a file is."""', [1]),
        ('def f() -> None:\n    """Of the file."""', [2]),
        ('class F:\n    """\n    By hand.\n    """', [2]),
        ("async def test_it_works() -> None: ...", [1]),
        ("def test_one_that_works() -> None: ...", [1]),
        ("def test_this() -> None: ...", [1]),
    ],
)
def test_words_without_a_subject_are_found_on_their_lines(text: str, lines: list[int]) -> None:
    assert [finding.line for finding in check_prose.check(text)] == lines


@pytest.mark.parametrize(
    "text",
    [
        '"""A file. What follows, who reads."""',
        '"""Offers and bytes; whatever."""',
        "message = 'nobody looks'",
        "def test_item_works() -> None: ...",
        "def it_works() -> None: ...",
        "USER = 65534  # nobody  # noqa: PROSE001 the name of the user",
        'def f() -> None:\n    """What is\n\n    quoted."""  # noqa: PROSE001 a title',
        "def test_it_works() -> None: ...  # noqa: PROSE001 it: Italian",
    ],
)
def test_texts_with_a_subject_or_a_reason_pass(text: str) -> None:
    assert check_prose.check(text) == []


def test_exception_without_a_reason_does_not_count() -> None:
    assert check_prose.check("x = 1  # nobody  # noqa: PROSE001")


def test_repository_has_no_findings() -> None:
    with pytest.raises(SystemExit) as exited:
        check_prose.main()
    assert exited.value.code == 0

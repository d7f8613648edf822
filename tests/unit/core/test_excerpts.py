import pytest

from rukpak_py.core.text import excerpt


@pytest.mark.parametrize("text", ["", "a", "a" * 100])
def test_a_text_that_fits_stays_as_it_is(text: str) -> None:
    assert excerpt(text, 100) == text


def test_a_long_text_keeps_both_ends_and_says_how_much_is_left_out() -> None:
    text = f"subject: {'x' * 400_000}: cause"

    shown = excerpt(text, 1_000)

    left_out = int(shown.partition("(")[2].partition(" ")[0])
    assert shown.startswith("subject: xxx")
    assert shown.endswith("xxx: cause")
    assert len(shown.replace(f" … ({left_out} characters left out) … ", "")) + left_out == len(text)


@pytest.mark.parametrize("most", range(200))
def test_an_excerpt_is_never_longer_than_asked(most: int) -> None:
    text = "ab" * 5_000

    shown = excerpt(text, most)

    assert len(shown) <= most
    assert len(shown) >= most - 1
    assert excerpt(shown, most) == shown


def test_where_a_mark_does_not_fit_the_head_stays() -> None:
    assert excerpt("abcdefghij" * 10, 5) == "abcde"

"""Secret values are found in texts in whatever form a template or a server gave them; ordinary words stay."""

import base64
import json
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.core import go_text
from rukpak_py.core.masking import MASK, MOST_VALUES, SHORTEST, WINDOW, Mask
from rukpak_py.core.text import excerpt

CANARY = "CANARY-s3cr3t/p@ss'w\"rd+1"
BYTES = CANARY.encode()
ENCODED = base64.b64encode(BYTES).decode()
FORMS = {
    "as it is": CANARY,
    "upper case": CANARY.upper(),
    "lower case": CANARY.lower(),
    "title case": CANARY.title(),
    "swapped case": CANARY.swapcase(),
    "JSON": json.dumps(CANARY),
    "Go, %q": go_text.quoted(CANARY),
    "Python": repr(CANARY),
    "single quotes of YAML": "'" + CANARY.replace("'", "''") + "'",
    "URL": quote(CANARY, safe=""),
    "path of a URL": quote(CANARY),
    "form": quote_plus(CANARY),
    "Base64": ENCODED,
    "Base64 without padding": ENCODED.rstrip("="),
    "Base64 for URLs": base64.urlsafe_b64encode(BYTES).decode(),
    "Base64 of more, one byte before": base64.b64encode(b"x" + BYTES + b" more").decode()[2:-10],
    "Base64 of more, two bytes before": base64.b64encode(b"xy" + BYTES + b" more").decode()[3:-10],
    "Base64 in upper case": ENCODED.upper(),
    "hexadecimal": BYTES.hex(),
    "cut at 63 characters": CANARY * 3,
}


@pytest.mark.parametrize("form", FORMS)
def test_a_value_is_hidden_in_every_form(form: str) -> None:
    shown = Mask([CANARY]).hide(f'ConfigMap shop/web: metadata.labels: Invalid value: "{FORMS[form]}": must be')

    assert FORMS[form].strip("\"'=")[4:-4] not in shown
    assert "canary" not in shown.lower()
    assert shown.startswith('ConfigMap shop/web: metadata.labels: Invalid value: "')
    assert shown.endswith('": must be')
    assert MASK in shown


@pytest.mark.parametrize("text", ["  trim-me-please \n", "first line\nsecond line\n"])
def test_lines_and_trimmed_values_are_hidden(text: str) -> None:
    mask = Mask([text])

    for line in text.strip().splitlines():
        assert mask.hide(f"-{line.strip()}-") == f"-{MASK}-"


@pytest.mark.parametrize(("value", "text"), [(12345678, "12345678"), (12345678, "1.2345678e+07"), (3.14159, "3.14159")])
def test_numbers_are_hidden_as_go_prints_them(value: float, text: str) -> None:
    assert Mask([value]).hide(f"port {text}") == f"port {MASK}"


def test_short_values_and_public_words_stay() -> None:
    mask = Mask(["a", "abc", "shop", CANARY], public=["shop"])

    assert mask.hide("ConfigMap shop/abc a") == "ConfigMap shop/abc a"
    assert not Mask(["x" * (SHORTEST - 1)])


def test_the_longer_value_wins() -> None:
    assert Mask(["hunter", "hunter-and-more"]).hide("<hunter-and-more>") == f"<{MASK}>"


def test_a_name_that_was_cut_at_63_characters_is_hidden() -> None:
    secret = "k" + "0123456789abcdef" * 8

    assert Mask([secret]).hide(f'Secret shop/{secret[:63]}: "x"') == f'Secret shop/{MASK}: "x"'


@pytest.mark.parametrize("most", range(40, 200))
def test_a_cut_in_the_middle_shows_no_half_of_a_value(most: int) -> None:
    secret = "".join(f"{number:x}-" for number in range(300, 330))
    text = f"{'a word, ' * 9}{secret}{' and words' * 9}"

    shown = Mask([secret]).hide(excerpt(text, most))

    for start in range(len(secret) - 2 * SHORTEST):
        assert secret[start : start + 2 * SHORTEST] not in shown


def test_a_cut_of_the_concise_message_shows_no_half_of_a_value() -> None:
    assert Mask(["hunter22-and-more"]).hide("spec: hunter22-an…") == f"spec: {MASK}…"
    assert Mask(["hunter22-and-more"]).hide("… 22-and-more: x") == f"… {MASK}: x"


@given(st.lists(st.text(min_size=1, max_size=40), max_size=5), st.text(max_size=100))
def test_hidden_values_do_not_show_and_other_texts_stay(values: list[str], text: str) -> None:
    shown = Mask(values).hide("".join(f"<{value}>{text}" for value in values))

    assert all(value not in shown.replace(MASK, "") for value in values if len(value.strip()) >= 2 * WINDOW)
    assert Mask(()).hide(text) == text


class Counting(str):
    """Counts what is looked at."""

    __slots__ = ()
    looks = 0

    def __getitem__(self, index: Any) -> str:
        Counting.looks += 1
        return str.__getitem__(self, index)

    def startswith(self, *arguments: Any) -> bool:
        Counting.looks += 1
        return str.startswith(self, *arguments)

    def lower(self) -> "Counting":
        return Counting(str.lower(self))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (["a" * 40_000], "a" * 30_000),
        ([f"{'pass' * 8}{number}" for number in range(500)], "pass" * 8_000),
        ([f"pass{number:04d}" for number in range(2_000)], "pass" * 8_000),
        (["a" * length for length in range(4, 60)], "aaa " * 8_000),
        (["hunter22"], "…hunt" * 6_000),
    ],
    ids=["one long value", "one beginning", "one short beginning", "all lengths", "cuts"],
)
def test_a_text_is_looked_at_in_proportion_to_its_length(values: list[str], text: str) -> None:
    mask = Mask(values)
    looks = []
    for size in (len(text) // 2, len(text)):
        Counting.looks = 0
        mask.hide(Counting(text[:size]))
        looks.append(Counting.looks)

    assert looks[1] <= 2.5 * looks[0] + 1_000


def test_of_very_many_values_the_longest_are_hidden() -> None:
    values = [f"value-{'x' * (number % 7)}-{number}" for number in range(MOST_VALUES + 500)]
    mask = Mask(values)

    by_length = sorted(values, key=len)
    assert mask.hide(by_length[-1]) == MASK
    assert mask.hide(f"{by_length[0]}!") == f"{by_length[0]}!"

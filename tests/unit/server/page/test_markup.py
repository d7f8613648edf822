"""Elements escape all that they hold."""

import html
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.core.visible import clean_text
from rukpak_py.server.page.markup import element

HOSTILE = [
    "<script>alert(1)</script>",
    "</td></tr></table><img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)>",
    "&lt;b&gt; &amp; &#60;script&#62;",
    "<!-- --> <![CDATA[ ]]> <?php ?>",
    "javascript:alert(1)",
    "${7*7} {{7*7}} `x`",
]
INVISIBLE = ["a\u202eb", "a\u2066b\u2069", "a\x00b", "a\x1b[2Jb", "a\ufeffb", "a\ud800b", "a\x85b", "a\rb"]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_stays_text(text: str) -> None:
    one = element("p", text, title=text)
    parsed = ET.fromstring(str(one))  # noqa: S314 - the same
    assert (parsed.text, parsed.get("title")) == (text, text)
    assert list(parsed) == []
    assert "<" not in str(one).removeprefix("<p").removesuffix("</p>")


@pytest.mark.parametrize("text", INVISIBLE)
def test_invisible_characters_are_shown(text: str) -> None:
    written = str(element("p", text, title=text))
    assert written.isprintable()
    assert written.isascii() or "\u2028" not in written
    assert html.unescape(written).count("\\u") in {2, 4}


@given(st.text(), st.text())
def test_every_text_comes_back_as_it_is_shown(text: str, value: str) -> None:
    parsed = ET.fromstring(str(element("p", "x", text, title=value)).encode(errors="strict"))  # noqa: S314 - the same
    assert parsed.text == f"x{clean_text(text)}"
    assert (parsed.get("title") or "").split() == clean_text(value).split()  # XML makes blanks of line ends in values


@pytest.mark.parametrize(
    ("address", "is_kept"),
    [
        ("./deployments/shop", True),
        ("../", True),
        ("https://example.com/page#part", True),
        ("javascript:alert(1)", False),
        ("JavaScript:alert(1)", False),
        ("java\tscript:alert(1)", False),
        ("\x01javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("vbscript:x", False),
        ("http://[", False),
    ],
)
def test_links_lead_to_pages_only(address: str, *, is_kept: bool) -> None:
    parsed = ET.fromstring(str(element("a", "x", href=address)))  # noqa: S314 - the same
    assert (parsed.get("href") is not None) is is_kept


def test_attributes_are_left_out_or_empty() -> None:
    one = element("input", class_="a", aria_label="b", open=True, disabled=False, value=None)
    assert str(one) == '<input class="a" aria-label="b" open=""/>'

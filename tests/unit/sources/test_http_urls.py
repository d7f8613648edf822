"""URLs of archives: what is sent is what was checked."""

from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rukpak_py.sources.http_url import InvalidUrlError, parse_url
from tests.fuzzing import choices, fuzzed


@pytest.mark.parametrize(
    ("text", "sent", "host", "port"),
    [
        ("http://example.com", "http://example.com/", "example.com", 80),
        ("HTTPS://Example.COM:8443/A", "https://example.com:8443/A", "example.com", 8443),
        ("https://[2001:DB8::1]/x", "https://[2001:db8::1]/x", "2001:db8::1", 443),
        ("https://example.com/a%2Fb%20c?sig=%2b+%2F&&x=", "https://example.com/a%2Fb%20c?sig=%2b+%2F&&x=", "", 443),
        ("https://example.com/../a/./b", "https://example.com/../a/./b", "", 443),
        ("https://example.com/a b/ü", "https://example.com/a%20b/%C3%BC", "", 443),
        ("https://bücher.example/x", "https://xn--bcher-kva.example/x", "xn--bcher-kva.example", 443),
        ("https://a_b.example:/x#part", "https://a_b.example/x", "a_b.example", 443),
        ("https://ann:pw@example.com/@x", "https://example.com/@x", "example.com", 443),
    ],
)
def test_url_is_sent_as_it_was_checked(text: str, sent: str, host: str, port: int) -> None:
    target = parse_url(text)
    assert str(target.url) == sent
    assert (target.host, target.port) == (host or "example.com", port)


PIECES = [
    *("http://", "https://", "HTTP://", "file://", "ann", ":pw", "@", "h.example", "[::1]", "[::ffff:7f00:1]", ":80"),
    *(
        ":0",
        "/",
        "//",
        "\\",
        "..",
        "%2f",
        "%0a",
        "%",
        "?",
        "#",
        "a b",
        "é",
        "\u0661",
        "\n",
        "\0",
        "xn--",
        "[",
        "]",
        ".",
        "0x7f.1",
    ),
]


@fuzzed
@given(choices.map(lambda chosen: "".join(chosen.some(PIECES, 9))) | st.text(max_size=30))
@example("http://[::ffff:127.0.0.1]:80/")
@example("http://a@b@c/")
@example("http://h.example:0/")
def test_anything_is_a_target_or_refused(text: str) -> None:
    try:
        target = parse_url(text)
    except InvalidUrlError:
        return
    assert target.url.scheme in {"http", "https"}
    assert (target.url.raw_host, target.url.port) == (target.host, target.port)
    assert target.url.user is None
    again = parse_url(str(target.url))
    assert (again.url, again.host, again.port) == (target.url, target.host, target.port)
    assert urlsplit(str(target.url)).hostname == target.host


@fuzzed
@given(st.text(max_size=30), choices.map(lambda chosen: "".join(chosen.some(PIECES, 9))))
def test_a_location_is_a_target_or_refused(path: str, location: str) -> None:
    try:
        target = parse_url("https://ann:pw@example.com/x").joined(location + path)
    except ValueError:
        return
    except InvalidUrlError:
        return
    assert not target.login
    assert target.url.user is None
    assert str(target.address).startswith(("[", target.host))

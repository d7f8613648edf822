"""The annotation `core.rukpak.io/hosts`: what it names, what it does not, and what cannot be read."""

import pytest

from rukpak_py.sources.logins import is_named, parse_hosts

NAMED = (
    ("git.example.com", "git.example.com", 443),
    ("git.example.com", "git.example.com", 8443),
    ("git.example.com:8443", "git.example.com", 8443),
    ("GIT.Example.com.", "git.EXAMPLE.com", 443),
    ("git.example.com", "git.example.com.", 443),
    (" a.example , git.example.com ,", "git.example.com", 22),
    ("*.example.com", "git.example.com", 443),
    ("*.example.com", "GIT.example.com", 443),
    ("*.example.com:22", "git.example.com", 22),
    ("*.internal", "git.internal", 443),
    ("localhost", "localhost", 5000),
    ("files_1.example", "files_1.example", 80),
    ("xn--bcher-kva.example", "xn--bcher-kva.example", 443),
    ("10.0.0.5", "10.0.0.5", 443),
    ("10.0.0.5:5000", "10.0.0.5", 5000),
    ("[FD12::0:1]", "fd12::1", 443),
    ("[fd12::1]:8443", "[fd12:0::1]", 8443),
)
NOT_NAMED = (
    ("", "git.example.com", 443),
    (" , ", "git.example.com", 443),
    ("git.example.com:8443", "git.example.com", 443),
    ("git.example.com", "example.com", 443),
    ("git.example.com", "git.example.com.evil.example", 443),
    ("git.example.com", "evilgit.example.com", 443),
    ("git.example.com", "gitxexample.com", 443),
    ("*.example.com", "example.com", 443),
    ("*.example.com", ".example.com", 443),
    ("*.example.com", "a.b.example.com", 443),
    ("*.example.com", "*.example.com.evil.example", 443),
    ("*.example.com", "evilexample.com", 443),
    ("*.example.com:22", "git.example.com", 443),
    ("10.0.0.5", "10.0.0.50", 443),
    ("10.0.0.5", "0x0a000005", 443),  # the host must be written as the annotation has it
    ("[fd12::1]:8443", "fd12::1", 443),
    ("[::ffff:10.0.0.5]", "10.0.0.5", 443),
)
MALFORMED = (
    *(
        "https://git.example.com",
        "git.example.com/path",
        "ann@git.example.com",
        "git.example.com:",
        "git.example.com:0",
    ),
    *("git.example.com:65536", "git.example.com:-1", "git.example.com:port", "git.example.com:443:443", ":443"),
    *(
        "*",
        "*.",
        "*:443",
        "**.example.com",
        "*.*.example.com",
        "git*.example.com",
        "git.*.com",
        "*.10.0.0.1",
        "*.0.0.1",
    ),
    *(
        "-git.example.com",
        "git-.example.com",
        "git..example.com",
        ".example.com",
        "a b",
        "bücher.example",
        "a.b..",
        ".",
    ),
    *("fd12::1", "[fd12::1", "[fd12::1]x", "[git.example.com]", "[10.0.0.5]", "[]", "[::1%eth0]", "[1:2]"),
    *("10.0.0", "10.0.0.256", "0x0a000005", "167772165", "010.0.0.5", "files.1", "a" * 64 + ".example"),
    *("git.example.com;other.example", "git.example.com\nother.example", "git.example.com\x00"),
)


@pytest.mark.parametrize(("annotation", "host", "port"), NAMED)
def test_host_in_the_annotation_is_named(annotation: str, host: str, port: int) -> None:
    assert is_named(host, port, parse_hosts(annotation))


@pytest.mark.parametrize(("annotation", "host", "port"), NOT_NAMED)
def test_host_outside_of_the_annotation_is_not_named(annotation: str, host: str, port: int) -> None:
    assert not is_named(host, port, parse_hosts(annotation))


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.1", "::1"])
def test_an_asterisk_stands_for_no_part_of_an_address(address: str) -> None:
    for annotation in ("*.example.com", "*.local"):
        assert not is_named(address, 443, parse_hosts(annotation))


@pytest.mark.parametrize("entry", MALFORMED)
def test_an_entry_that_cannot_be_read_makes_the_annotation_invalid(entry: str) -> None:
    for annotation in (entry, f"git.example.com,{entry}", f"{entry}, git.example.com"):
        with pytest.raises(ValueError, match=r"is not a host: write git\.example\.com, "):
            parse_hosts(annotation)


def test_a_long_annotation_costs_no_time() -> None:
    """256 KiB, as the API server takes it: of entries, or of one."""
    assert len(parse_hosts("git.example.com:8443," * 12_000)) == 12_000
    for text in ("a" * (1 << 18), "*." * (1 << 17), "[" + ":" * (1 << 18)):
        with pytest.raises(ValueError, match="is not a host") as error:
            parse_hosts(text)
        assert len(str(error.value)) < 300

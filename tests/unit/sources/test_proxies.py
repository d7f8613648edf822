"""The proxy for a URL, as Go programs find it."""

import pytest

from rukpak_py.sources.urls import proxy_for

PROXY = {"HTTP_PROXY": "http://proxy:3128", "https_proxy": "secure:3129"}
BOTH = {"HTTPS_PROXY": "http://proxy:3128"}


@pytest.mark.parametrize(
    ("scheme", "environ", "proxy"),
    [
        ("http", {}, ""),
        ("http", PROXY, "http://proxy:3128"),
        ("https", PROXY, "http://secure:3129"),
        ("https", {"HTTP_PROXY": "http://proxy:3128"}, ""),
        ("http", PROXY | {"REQUEST_METHOD": "GET"}, ""),
        ("https", PROXY | {"REQUEST_METHOD": "GET"}, "http://secure:3129"),
        ("https", BOTH | {"https_proxy": "other"}, "http://proxy:3128"),
    ],
)
def test_the_variable_of_the_scheme(scheme: str, environ: dict[str, str], proxy: str) -> None:
    assert proxy_for(scheme, "files.example.com", 443, environ) == proxy


@pytest.mark.parametrize(
    ("host", "no_proxy", "is_direct"),
    [
        ("files.example.com", "", False),
        ("files.example.com", "*", True),
        ("files.example.com", "example.com", True),
        ("files.example.com", "a.b, EXAMPLE.com ,", True),
        ("files.example.com", ".example.com", True),
        ("files.example.com", "*.example.com", True),
        ("example.com", "example.com", True),
        ("example.com", ".example.com", False),
        ("badexample.com", "example.com", False),
        ("files.example.com.", "example.com", True),
        ("files.example.com", "example.com:443", True),
        ("files.example.com", "example.com:8443", False),
        ("10.96.3.4", "10.96.0.0/12", True),
        ("10.112.3.4", "10.96.0.0/12", False),
        ("10.96.3.4", "10.96.3.4", True),
        ("10.96.3.4", "10.96.3.4:443", True),
        ("fd12::7", "fd12::/64", True),
        ("fd12::7", "[fd12::7]:443", True),
        ("localhost", "", True),
        ("127.0.0.9", "", True),
        ("::1", "", True),
    ],
)
def test_host_in_no_proxy_is_connected_to_directly(host: str, no_proxy: str, *, is_direct: bool) -> None:
    environ = BOTH | {"NO_PROXY": no_proxy}
    assert (proxy_for("https", host, 443, environ) == "") is is_direct

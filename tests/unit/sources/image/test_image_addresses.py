"""Connections of pulls: refused addresses, registries without TLS, and proxies."""

from dataclasses import replace
from typing import Any

import pytest

from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.sources.addresses import AddressPolicy, resolve_blocking
from rukpak_py.sources.image import transport
from rukpak_py.sources.image.reference import parse_image
from rukpak_py.sources.image.transport import Connections, Session
from rukpak_py.sources.tls import client_context
from tests.unit.sources.image.image_pulls import FILES, LOOPBACK, pulled, reference, refused
from tests.unit.sources.image.image_registry import REPOSITORY, Contents
from tests.unit.web_servers import Answer, Server

# What reading a URL fails on: brackets, what is in them, and the port.
BROKEN = (
    "http://[::1/x",
    "http://[x]/y",
    "http://127.0.0.1:99999/x",
    "http://127.0.0.1:port/x",
)

pytestmark = pytest.mark.usefixtures("hasty")


@pytest.fixture
def contents() -> Contents:
    contents = Contents()
    contents.image({"bin/x": b"1"}, FILES, tag="v1")
    return contents


@pytest.mark.parametrize("address", ["169.254.169.254", "[fe80::1]", "[fd00:ec2::254]", "[::ffff:169.254.169.254]"])
def test_c19_redirects_to_metadata_are_refused(server: Server, address: str) -> None:
    server.answer = lambda asked: Answer(307, {"Location": f"http://{address}/latest/meta-data"})
    assert "--allow-source-addresses" in refused(reference(server), ContentError)


@pytest.mark.parametrize("host", ["169.254.169.254", "0xa9.254.169.254", "2852039166", "0251.0376.0251.0376"])
def test_c19_a_proxy_is_not_asked_for_refused_numbers(
    server: Server, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """Neither for the registry itself nor for where it redirects to."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, f"http://{server.address}")
    image = parse_image(f"{host}:80/{REPOSITORY}:v1")
    text = refused(image, ContentError, addresses=AddressPolicy(), plain_http=frozenset({image.registry}))
    assert "link-local address: refused unless --allow-source-addresses names it" in text
    assert server.asked == []
    server.answer = lambda _: Answer(307, {"Location": f"http://{host}/latest/meta-data"})
    assert "link-local address" in refused(reference(server), ContentError)
    assert len(server.asked) == 1


@pytest.mark.parametrize("location", BROKEN)
def test_a_redirect_to_what_is_not_a_url(server: Server, location: str) -> None:
    server.answer = lambda _: Answer(307, {"Location": location})
    assert refused(reference(server), UnavailableError) == f"what {server.address} redirects to is not a valid URL"


def test_the_body_of_a_redirect_is_not_read(server: Server) -> None:
    """A pull does not need it, and no limit bounds it."""
    server.answer = lambda _: Answer(307, {"Location": "/moved"}, bytes(1 << 20))
    connections = Connections(LOOPBACK)
    answer = Session(connections, client_context(), plain_http=True).request("GET", f"http://{server.address}/v2/")
    assert (answer.is_redirect, answer.raw.tell()) == (True, 0)
    connections.abort()


@pytest.mark.parametrize("realm", BROKEN)
def test_a_token_service_that_is_not_a_url(server: Server, realm: str) -> None:
    server.answer = lambda _: Answer(401, {"WWW-Authenticate": f'Bearer realm="{realm}",service="x"'})
    assert refused(reference(server), UnavailableError) == "the address of its token service is not a valid URL"


@pytest.mark.parametrize("host", ["[::::]", "[1::2::3]", "[12345::]"])
def test_a_registry_in_brackets_has_to_be_an_address(host: str) -> None:
    with pytest.raises(ContentError, match="is not a valid image name"):
        parse_image(f"{host}:5000/{REPOSITORY}:v1")


def test_c19_registries_on_refused_addresses_are_not_asked(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that has such an address is an attack."""
    monkeypatch.setattr(
        transport, "resolve_blocking", lambda host, port, policy: policy.usable(host, port, ["127.0.0.1"])
    )
    name = f"registry.example.com:{server.server_port}/{REPOSITORY}:v1"
    assert "has the address 127.0.0.1" in refused(parse_image(name), ContentError, addresses=AddressPolicy())
    assert server.asked == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2", "[::1]"])
def test_c19_a_bundle_does_not_reach_the_operators_own_ports(server: Server, host: str) -> None:
    """The same name may be a registry for a node, so it is no fault of the Bundle."""
    image = parse_image(f"{host}:{server.server_port}/{REPOSITORY}:v1")
    text = refused(image, UnavailableError, addresses=AddressPolicy())
    assert "a loopback address: refused unless --allow-source-addresses names it" in text
    assert server.asked == []
    if host in {"127.0.0.1", "localhost"}:
        assert dict(pulled(image, addresses=AddressPolicy(), plain_http=frozenset({image.registry}))[1]) == FILES


def test_c19_what_resolves_is_what_is_connected_to(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """DNS rebinding: the name is resolved once for a connection."""
    asked: list[str] = []

    def resolve(host: str, port: int, policy: AddressPolicy) -> tuple[str, ...]:
        asked.append(host)
        return resolve_blocking("127.0.0.1", port, policy)

    monkeypatch.setattr(transport, "resolve_blocking", resolve)
    assert dict(pulled(parse_image(f"localhost:{server.server_port}/{REPOSITORY}:v1"))[1]) == FILES
    assert set(asked) == {"localhost"}


def test_c19_the_api_server_is_no_registry(server: Server) -> None:
    policy = replace(LOOPBACK, api_servers=frozenset({("127.0.0.1", server.server_port)}))
    assert "is the API server" in refused(reference(server), ContentError, addresses=policy)
    assert server.asked == []


def test_plain_http_only_for_registries_that_are_named(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "resolve_blocking", lambda *_: ("127.0.0.1",))
    registry = f"registry.example.com:{server.server_port}"
    name = f"{registry}/{REPOSITORY}:v1"
    assert refused(parse_image(name), UnavailableError) == f"{registry} does not speak TLS; Name it."
    assert dict(pulled(parse_image(name), plain_http=frozenset({registry}))[1]) == FILES


def test_proxy_of_the_environment_is_used_unless_no_proxy_names_the_registry(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server stands in for proxy and registry; names are resolved by the proxy."""
    monkeypatch.setenv("HTTP_PROXY", f"http://proxy:pass@{server.address}")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "registry.example.com")
    monkeypatch.setattr(transport, "resolve_blocking", lambda *_: ("127.0.0.1",))
    image = parse_image(f"registry.example.com:{server.server_port}/{REPOSITORY}:v1")
    given: dict[str, Any] = {"plain_http": frozenset({image.registry})}
    assert dict(pulled(image, **given)[1]) == FILES
    assert all(asked.path.startswith("/") for asked in server.asked)
    monkeypatch.setenv("NO_PROXY", "")
    assert "does not answer" in refused(image, UnavailableError, **given)

"""Images of a registry, as the command line opens them."""

from pathlib import Path

import pytest
from urllib3.util.connection import create_connection

from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.sources.image.reference import PLAIN_HTTP_VARIABLE
from rukpak_py.sources.local import open_tree
from tests.unit.sources.image.image_registry import REPOSITORY, Contents
from tests.unit.web_servers import Server

CONNECT = "rukpak_py.sources.image.transport.create_connection"
pytestmark = pytest.mark.usefixtures("hasty")


@pytest.fixture(autouse=True)
def no_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No user is logged in anywhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_a_bundle_is_read_and_nothing_else(server: Server, contents: Contents) -> None:
    bundle = {"manifests/a": b"1", "metadata/annotations.yaml": b"2", "Chart.yaml": b"3"}
    contents.image({"usr/x": b"x"}, bundle, tag="v1")
    name = f"{server.address}/{REPOSITORY}:v1"
    assert dict(open_tree(name)) == dict(open_tree(f"docker://{name}")) == bundle


def test_failures_say_what_was_typed_and_that_it_is_no_path(server: Server) -> None:
    name = f"{server.address}/{REPOSITORY}:v1"
    text = "cannot be pulled: the registry answers GET with 404: manifest unknown"
    with pytest.raises(UnavailableError) as caught:
        open_tree(name)
    assert str(caught.value) == f"{name}: there is no such file or directory, and as an image it {text}"
    with pytest.raises(UnavailableError) as caught:
        open_tree(f"docker://{name}")
    assert str(caught.value) == f"docker://{name}: {text}"


def test_an_image_without_a_bundle(server: Server, contents: Contents) -> None:
    contents.image({"usr/x": b"x"}, tag="v1")
    with pytest.raises(ContentError, match="the image holds no bundle"):
        open_tree(f"docker://{server.address}/{REPOSITORY}:v1")


def test_registries_without_tls_are_named(server: Server, contents: Contents, monkeypatch: pytest.MonkeyPatch) -> None:
    contents.image({"manifests/a": b"1"}, tag="v1")
    registry = f"registry.example.com:{server.server_port}"
    monkeypatch.setattr(CONNECT, lambda _, *rest, **more: connected(server, *rest, **more))
    with pytest.raises(UnavailableError, match=f"{PLAIN_HTTP_VARIABLE} names registries that are asked without TLS"):
        open_tree(f"{registry}/{REPOSITORY}:v1")
    monkeypatch.setenv(PLAIN_HTTP_VARIABLE, registry)
    assert dict(open_tree(f"{registry}/{REPOSITORY}:v1")) == {"manifests/a": b"1"}


def connected(server: Server, *rest: object, **more: object) -> object:
    return create_connection(("127.0.0.1", server.server_port), *rest, **more)  # type: ignore[arg-type]  # passed through

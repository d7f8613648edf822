"""A built image is pushed to a real registry, which stores the digest that was told, and gives the bundle back."""

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rukpak_py.sources.image.build import MANIFEST_TYPE
from rukpak_py.sources.image.layers import apply_layers
from rukpak_py.sources.local import open_tree
from tests.integration.images.registry import (
    PASSWORD,
    USER,
    Registry,
    basic,
    htpasswd,
    running_registry,
    running_token_service,
)
from tests.unit.cli.running import SAMPLES, CommandLine


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with running_registry(tmp_path_factory.mktemp("registry")) as registry:
        yield registry


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    return tmp_path


@pytest.fixture
def rukpakctl(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


def build(name: str, *more: str) -> tuple[str, ...]:
    """Into directories of the working directory, for the sample stays as it is."""
    given = ("-p", "greeter", "-c", "stable", "-e", "stable", "-u", "out")
    return ("bundle", "build", "-d", str(SAMPLES / "greeter-v1/manifests"), *given, "--push", name, *more)


def log_in(folder: Path, registry: Registry, password: str = PASSWORD) -> None:
    auth = base64.b64encode(f"{USER}:{password}".encode()).decode()
    (folder / "config.json").write_text(json.dumps({"auths": {registry.address: {"auth": auth}}}))


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def test_pushed_image_is_pulled_with_the_same_content(registry: Registry, here: Path, rukpakctl: CommandLine) -> None:
    name = f"{registry.address}/team/greeter:v1"
    ran = rukpakctl(*build(name, "--output", "image"))
    assert (ran.status, ran.err.splitlines()[-1]) == (0, f"pushed {name}")
    manifest = registry.get("team/greeter/manifests/v1", accept=MANIFEST_TYPE)
    assert digest_of(manifest) == ran.out.strip()
    decoded = json.loads(manifest)
    layers = [registry.get(f"team/greeter/blobs/{layer['digest']}") for layer in decoded["layers"]]
    assert [digest_of(layer) for layer in layers] == [layer["digest"] for layer in decoded["layers"]]
    config = registry.get(f"team/greeter/blobs/{decoded['config']['digest']}")
    assert json.loads(config)["config"]["Labels"]["operators.operatorframework.io.bundle.package.v1"] == "greeter"
    assert apply_layers([layer] for layer in layers) == open_tree(here / "image") == open_tree(here / "out")


def test_pushing_again_changes_nothing(registry: Registry, here: Path, rukpakctl: CommandLine) -> None:
    name = f"{registry.address}/again/greeter:v1"
    first, second = rukpakctl(*build(name)), rukpakctl(*build(name))
    assert (first.status, second.status) == (0, 0)
    assert first.out == second.out
    assert json.loads(registry.get("again/greeter/tags/list"))["tags"] == ["v1"]


def test_registry_with_passwords_takes_the_login_that_it_knows(here: Path, rukpakctl: CommandLine) -> None:
    with running_registry(here / "registry", htpasswd(here)) as it:
        name = f"{it.address}/greeter:v1"
        without_login = rukpakctl(*build(name))
        assert without_login.status == 3
        assert f"it wants a login. Log in with `docker login {it.address}`" in without_login.err
        log_in(here, it, "wrong")
        wrong = rukpakctl(*build(name))
        assert wrong.status == 3
        assert "refuses: " in wrong.err
        log_in(here, it)
        assert rukpakctl(*build(name)).status == 0
        assert it.get("greeter/manifests/v1", accept=MANIFEST_TYPE, login=basic())


def test_registry_with_tokens_takes_the_login_that_it_knows(here: Path, rukpakctl: CommandLine) -> None:
    with (
        running_token_service() as service,
        running_registry(here / "registry", service.auth(here / "registry")) as it,
    ):
        name = f"{it.address}/team/greeter:v1"
        assert "no token for this login" in rukpakctl(*build(name)).err
        log_in(here, it, "wrong")
        assert "no token for this login" in rukpakctl(*build(name)).err
        assert service.scopes == []
        log_in(here, it)
        ran = rukpakctl(*build(name))
        assert (ran.status, ran.err.splitlines()[-1]) == (0, f"pushed {name}")
        [scope] = service.scopes
        kind, name, actions = scope.split(":")
        assert (kind, name, sorted(actions.split(","))) == ("repository", "team/greeter", ["pull", "push"])

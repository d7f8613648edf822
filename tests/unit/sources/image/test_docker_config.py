"""RegistryCredentials are found where `docker login` leaves them, and never told."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from rukpak_py.core.errors import AccessError
from rukpak_py.sources.image.credentials import RegistryCredentials, credentials_for
from rukpak_py.sources.image.reference import parse_image

SECRET = "s3cr:et"
QUAY = parse_image("quay.io/team/demo:v1")
HELPER = '#!/bin/sh\n[ "$1" = get ] || exit 9\nread name\n{body}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    for name in ("REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def auth(user: str = "me", password: str = SECRET) -> dict[str, str]:
    return {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}


def configure(folder: Path, config: Any) -> None:
    (folder / "config.json").write_text(json.dumps(config))


def helper(folder: Path, name: str, body: str) -> None:
    program = folder / f"docker-credential-{name}"
    program.write_text(HELPER.format(body=body))
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("config", "registry"),
    [
        ({"auths": {"quay.io": auth()}}, "quay.io"),
        ({"auths": {"localhost:5000": auth()}}, "localhost:5000"),
        ({"auths": {"https://quay.io": auth()}}, "quay.io"),
        ({"auths": {"https://index.docker.io/v1/": auth()}}, "docker.io"),
        ({"auths": {"docker.io": auth()}}, "docker.io"),
        ({"auths": {"quay.io": {"username": "me", "password": SECRET}}, "more": 1}, "quay.io"),
    ],
)
def test_login_in_the_configuration_is_found(folder: Path, config: Any, registry: str) -> None:
    configure(folder, config)
    assert credentials_for(parse_image(f"{registry}/team/demo")) == RegistryCredentials(user="me", password=SECRET)


@pytest.mark.parametrize("config", [{}, {"auths": {}}, {"auths": {"quay.io.evil": auth(), "evil/quay.io": auth()}}])
def test_configuration_without_a_login_gives_no_credentials(folder: Path, config: Any) -> None:
    configure(folder, config)
    assert credentials_for(QUAY) is None


def test_missing_configuration_gives_no_credentials(folder: Path) -> None:
    assert credentials_for(QUAY) is None


def test_the_file_is_at_home_otherwise(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_CONFIG")
    monkeypatch.setenv("HOME", str(folder))
    (folder / ".docker").mkdir()
    configure(folder / ".docker", {"auths": {"quay.io": auth()}})
    assert credentials_for(QUAY) is not None


@pytest.mark.parametrize(
    "config",
    [{"credHelpers": {"quay.io": "one"}, "credsStore": "two"}, {"credsStore": "one", "auths": {"quay.io": {}}}],
)
def test_helpers_are_asked(folder: Path, config: Any) -> None:
    configure(folder, config)
    helper(folder, "one", 'echo "{\\"Username\\": \\"for $name\\", \\"Secret\\": \\"s\\"}"')
    assert credentials_for(QUAY) == RegistryCredentials(user="for quay.io", password="s")


def test_a_helper_that_knows_nothing(folder: Path) -> None:
    configure(folder, {"credHelpers": {"quay.io": "one"}})
    helper(folder, "one", f"echo {SECRET}; exit 1")
    assert credentials_for(QUAY) is None


@pytest.mark.parametrize(
    "config",
    [
        {"auths": {"quay.io": {"auth": f"{SECRET}!"}}},
        {"auths": {"quay.io": {"auth": base64.b64encode(SECRET.replace(":", "").encode()).decode()}}},
        {"auths": [SECRET]},
        {"credHelpers": {"quay.io": "missing"}},
        {"credHelpers": {"quay.io": "../one"}},
        {"credHelpers": {"quay.io": "odd"}},
    ],
)
def test_unusable_configuration_is_told_without_the_secret(folder: Path, config: Any) -> None:
    configure(folder, config)
    helper(folder, "odd", f"echo {SECRET}")
    with pytest.raises(AccessError) as caught:
        credentials_for(QUAY)
    assert SECRET not in str(caught.value)


def test_passwords_are_not_shown() -> None:
    assert SECRET not in repr(RegistryCredentials(user="me", password=SECRET))


@pytest.mark.parametrize(
    "config", [{"auths": {"quay.io": {"identitytoken": SECRET}}}, {"credHelpers": {"quay.io": "token"}}]
)
def test_identity_token_is_read_in_place_of_a_password(folder: Path, config: Any) -> None:
    configure(folder, config)
    helper(folder, "token", f'echo "{{\\"Username\\": \\"<token>\\", \\"Secret\\": \\"{SECRET}\\"}}"')
    assert credentials_for(QUAY) == RegistryCredentials(identity_token=SECRET)
    assert SECRET not in repr(credentials_for(QUAY))


def test_podman_logs_in_to_a_part_of_a_registry(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    (folder / "containers").mkdir()
    logins = {"quay.io": auth("all"), "quay.io/team": auth("team"), "quay.io/team/other": auth("other")}
    (folder / "containers/auth.json").write_text(json.dumps({"auths": logins}))
    assert credentials_for(QUAY) == RegistryCredentials(user="team", password=SECRET)
    assert credentials_for(parse_image("quay.io/x/demo")) == RegistryCredentials(user="all", password=SECRET)
    configure(folder, {"auths": {"quay.io": auth("docker")}})
    assert credentials_for(QUAY) == RegistryCredentials(user="docker", password=SECRET)


def test_a_named_file_comes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(folder, {"auths": {"quay.io": auth("docker")}})
    (folder / "named").write_text(json.dumps({"auths": {"quay.io": auth("named")}}))
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(folder / "named"))
    assert credentials_for(QUAY) == RegistryCredentials(user="named", password=SECRET)

"""Credentials are found where `docker login` leaves them, and never told."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from rukpak_py.core.errors import AccessError
from rukpak_py.sources.image.docker_config import Credentials, credentials_for

SECRET = "s3cr:et"
HELPER = '#!/bin/sh\n[ "$1" = get ] || exit 9\nread name\n{body}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
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
def test_logins(folder: Path, config: Any, registry: str) -> None:
    configure(folder, config)
    assert credentials_for(registry) == Credentials(user="me", password=SECRET)


@pytest.mark.parametrize("config", [{}, {"auths": {}}, {"auths": {"quay.io.evil": auth(), "evil/quay.io": auth()}}])
def test_nobody_logged_in(folder: Path, config: Any) -> None:
    configure(folder, config)
    assert credentials_for("quay.io") is None


def test_without_a_file_nobody_logged_in(folder: Path) -> None:
    assert credentials_for("quay.io") is None


def test_the_file_is_at_home_otherwise(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_CONFIG")
    monkeypatch.setenv("HOME", str(folder))
    (folder / ".docker").mkdir()
    configure(folder / ".docker", {"auths": {"quay.io": auth()}})
    assert credentials_for("quay.io") is not None


@pytest.mark.parametrize(
    "config",
    [{"credHelpers": {"quay.io": "one"}, "credsStore": "two"}, {"credsStore": "one", "auths": {"quay.io": {}}}],
)
def test_helpers_are_asked(folder: Path, config: Any) -> None:
    configure(folder, config)
    helper(folder, "one", 'echo "{\\"Username\\": \\"for $name\\", \\"Secret\\": \\"s\\"}"')
    assert credentials_for("quay.io") == Credentials(user="for quay.io", password="s")


def test_a_helper_that_knows_nothing(folder: Path) -> None:
    configure(folder, {"credHelpers": {"quay.io": "one"}})
    helper(folder, "one", f"echo {SECRET}; exit 1")
    assert credentials_for("quay.io") is None


@pytest.mark.parametrize(
    "config",
    [
        {"auths": {"quay.io": {"auth": f"{SECRET}!"}}},
        {"auths": {"quay.io": {"auth": base64.b64encode(SECRET.replace(":", "").encode()).decode()}}},
        {"auths": {"quay.io": {"identitytoken": SECRET}}},
        {"auths": [SECRET]},
        {"credHelpers": {"quay.io": "missing"}},
        {"credHelpers": {"quay.io": "../one"}},
        {"credHelpers": {"quay.io": "odd"}},
        {"credHelpers": {"quay.io": "token"}},
    ],
)
def test_what_cannot_be_used_is_told_without_the_secret(folder: Path, config: Any) -> None:
    configure(folder, config)
    helper(folder, "odd", f"echo {SECRET}")
    helper(folder, "token", f'echo "{{\\"Username\\": \\"<token>\\", \\"Secret\\": \\"{SECRET}\\"}}"')
    with pytest.raises(AccessError) as caught:
        credentials_for("quay.io")
    assert SECRET not in str(caught.value)


def test_passwords_are_not_shown() -> None:
    assert SECRET not in repr(Credentials(user="me", password=SECRET))

"""Logins that an image is pulled with: pull secrets of every shape, matched as Kubernetes matches them."""

import base64
import json
from typing import Any

import pytest

from rukpak_py.core.errors import AccessError
from rukpak_py.sources.image.credentials import Keychain, RegistryCredentials
from rukpak_py.sources.image.reference import parse_image

PASSWORD = "s3cr:et"


def entry(user: str = "me", password: str = PASSWORD) -> dict[str, str]:
    return {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}


def config_json(auths: Any) -> dict[str, bytes]:
    return {".dockerconfigjson": json.dumps({"auths": auths}).encode()}


def users(auths: Any, image: str) -> list[str]:
    keychain = Keychain()
    keychain.add_secret(config_json(auths))
    return [one.user for one in keychain.for_image(parse_image(image))]


@pytest.mark.parametrize(
    "given",
    [
        entry(),
        {"username": "me", "password": PASSWORD},
        {"username": "other", "password": "other", **entry()},
        {"auth": entry()["auth"].rstrip("="), "email": "me@example.com"},
        {"auth": f"{entry()['auth']}\n"},
    ],
)
def test_both_kinds_of_secrets_and_all_kinds_of_entries(given: dict[str, str]) -> None:
    for data in (config_json({"quay.io": given}), {".dockercfg": json.dumps({"quay.io": given}).encode()}):
        keychain = Keychain()
        keychain.add_secret(data)
        assert keychain.for_image(parse_image("quay.io/team/demo:v1")) == [
            RegistryCredentials(user="me", password=PASSWORD)
        ]
        assert keychain.for_image(parse_image("ghcr.io/team/demo:v1")) == []


def test_identity_token_is_read_in_place_of_a_password() -> None:
    keychain = Keychain()
    keychain.add_secret(config_json({"quay.io": {"identitytoken": PASSWORD, **entry("<token>", "")}}))
    [found] = keychain.for_image(parse_image("quay.io/x"))
    assert (found.identity_token, found.password) == (PASSWORD, "")


@pytest.mark.parametrize(
    ("key", "image", "fits"),
    [
        ("quay.io", "quay.io/team/demo", True),
        ("https://quay.io", "quay.io/team/demo", True),
        ("http://quay.io/v2/", "quay.io/team/demo", True),
        ("https://quay.io/v1/", "quay.io/team/demo", True),
        ("quay.io/team", "quay.io/team/demo", True),
        ("quay.io/team/demo", "quay.io/team/demo", True),
        ("quay.io/team/other", "quay.io/team/demo", False),
        ("*.example.com", "a.example.com/x", True),
        ("*.example.com", "a.b.example.com/x", False),
        ("*.example.com", "example.com/x", False),
        ("*.*.example.com", "a.b.example.com/x", True),
        ("reg-[a-c]?.example.com", "reg-b1.example.com/x", True),
        ("reg-[^b].example.com", "reg-b.example.com/x", False),
        ("*", "localhost:5000/x", False),
        ("*:5000", "localhost:5000/x", True),
        ("localhost:5000", "localhost:5001/x", False),
        ("example.com", "example.com:5000/x", False),
        ("[::1]:5000", "[::1]:5000/x", True),
        ("quay.io.evil.com", "quay.io/x", False),
        ("quay.io", "quay.io.evil.com/x", False),
        ("https://index.docker.io/v1/", "demo", True),
        ("index.docker.io", "team/demo", True),
        ("docker.io", "docker.io/team/demo", True),
        ("https://index.docker.io/v1/", "quay.io/demo", False),
    ],
)
def test_key_of_a_pull_secret_fits_its_images_only(key: str, image: str, fits: bool) -> None:  # noqa: FBT001 - a parameter
    assert users({key: entry()}, image) == (["me"] if fits else [])


def test_the_longest_path_comes_first() -> None:
    auths = {name: entry(name) for name in ("quay.io", "quay.io/team/demo", "quay.io/team", "ghcr.io", "*.io")}
    assert users(auths, "quay.io/team/demo") == ["quay.io/team/demo", "quay.io/team", "quay.io", "*.io"]


def test_all_secrets_count_in_their_order() -> None:
    keychain = Keychain()
    for user in ("one", "two", "one"):
        keychain.add_secret(config_json({"quay.io": entry(user)}))
    assert [one.user for one in keychain.for_image(parse_image("quay.io/x"))] == ["one", "two"]


def test_docker_io_itself_comes_before_its_old_name() -> None:
    auths = {"https://index.docker.io/v1/": entry("old"), "docker.io": entry("new")}
    assert users(auths, "team/demo") == ["new"]


def test_an_entry_that_says_nothing_is_none() -> None:
    assert users({"quay.io": {}}, "quay.io/x") == []
    assert users(None, "quay.io/x") == []


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"username": b"me", "password": PASSWORD.encode()},
        {".dockerconfigjson": PASSWORD.encode()},
        {".dockerconfigjson": f'{{"auths": ["{PASSWORD}"]}}'.encode()},
        {".dockerconfigjson": b'{"auths": ' * 5000},
        {".dockercfg": b"\xff"},
        config_json({"quay.io": {"auth": f"{PASSWORD}!"}}),
        config_json({"quay.io": {"auth": base64.b64encode(b"s3cret").decode()}}),
    ],
)
def test_c18_what_is_no_pull_secret_is_told_without_its_content(data: dict[str, bytes]) -> None:
    with pytest.raises(AccessError) as caught:
        Keychain().add_secret(data)
    assert "s3cr" not in str(caught.value)
    assert caught.value.__cause__ is None

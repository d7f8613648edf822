"""Credential plugins of kubeconfigs and OIDC logins: how a plugin is called, and how each failure is told."""

import base64
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from rukpak_py.core.errors import AccessError
from rukpak_py.kube.config import CommandToken, load_connection
from rukpak_py.kube.credential_plugins import CLUSTER_CONFIG, ExpiringToken, ask_auth_provider, run_plugin

V1 = "client.authentication.k8s.io/v1"
BETA = "client.authentication.k8s.io/v1beta1"
Ask = Callable[..., Any]


def credential(token: str = "t-1", version: str = V1, **status: Any) -> str:  # noqa: S107 - no password
    made = {"apiVersion": version, "kind": "ExecCredential", "status": {"token": token, **status}}
    return orjson.dumps(made).decode()


def write_kubeconfig(path: Path, user: dict[str, Any], cluster: dict[str, Any] | None = None) -> Path:
    document = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443", **(cluster or {})}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_bytes(orjson.dumps(document))
    return path


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Have a plugin that is this shell script asked for a token."""

    async def ask(script: str, cluster: dict[str, Any] | None = None, **plugin: Any) -> str:
        program = tmp_path / "plugin"
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
        given = {"apiVersion": V1, "command": "./plugin", "interactiveMode": "Never", **plugin}
        connection = await load_connection(write_kubeconfig(tmp_path / "config", {"exec": given}, cluster))
        assert connection.token is not None
        return await connection.token.token()

    return ask


async def test_a_plugin_beside_the_kubeconfig_gives_the_token(ask: Ask) -> None:
    assert await ask(f"echo '{credential()}'") == "t-1"


async def test_a_plugin_is_found_on_path(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert await ask(f"echo '{credential()}'", command="plugin") == "t-1"


async def test_the_older_version_of_the_api_is_spoken_too(ask: Ask) -> None:
    assert await ask(f"echo '{credential(version=BETA)}'", apiVersion=BETA) == "t-1"


async def test_arguments_and_environment_reach_the_plugin(ask: Ask) -> None:
    script = f"""echo '{credential("TOKEN")}' | sed "s/TOKEN/$1-$REGION-$HOME/" """
    got = await ask(script, args=["login"], env=[{"name": "REGION", "value": "north"}, {"name": "HOME", "value": "h"}])
    assert got == "login-north-h"


async def test_the_plugin_learns_of_the_cluster_when_it_asks(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("authority", encoding="utf-8")
    script = f"""printf %s "$KUBERNETES_EXEC_INFO" >{tmp_path}/info; echo '{credential()}'"""
    extensions = [
        {"name": "other", "extension": 1},
        {"name": CLUSTER_CONFIG, "extension": {"a": 1}},
    ]
    cluster = {  # http: nothing reads the authority but the plugin
        "server": "http://10.0.0.1",
        "certificate-authority": "ca.crt",
        "tls-server-name": "api",
        "extensions": extensions,
    }
    await ask(script, cluster, provideClusterInfo=True)
    info = orjson.loads((tmp_path / "info").read_bytes())
    assert info == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {
            "interactive": False,
            "cluster": {
                "server": "http://10.0.0.1",
                "tls-server-name": "api",
                "certificate-authority-data": base64.b64encode(b"authority").decode(),
                "config": {"a": 1},
            },
        },
    }
    await ask(script, cluster)
    assert orjson.loads((tmp_path / "info").read_bytes())["spec"] == {"interactive": False}


@pytest.mark.parametrize(
    ("until", "asked_again"),
    [(math.inf, None), (1000.0, 1000.0), (0.0, 0.0)],
    ids=["no-expiry", "expiry", "expired-already"],
)
async def test_a_plugin_is_asked_again_once_its_token_has_expired(until: float, asked_again: float | None) -> None:
    """Some prompt their user, each time."""
    now, asked = 0.0, 0

    def ask_plugin() -> ExpiringToken:
        nonlocal asked
        asked += 1
        return ExpiringToken(f"t-{asked}", until)

    token = CommandToken(ask_plugin, clock=lambda: now)
    assert await token.token() == "t-1"
    for now in (0.0, 999.0, 1000.0, 86_400.0):
        before = asked
        await token.token()
        assert (asked > before) == (asked_again is not None and now >= asked_again)


async def test_a_plugin_is_asked_again_once_its_token_was_refused() -> None:
    given = iter(["t-1", "t-2"])
    token = CommandToken(lambda: ExpiringToken(next(given), math.inf))
    assert [await token.token(), await token.token()] == ["t-1", "t-1"]
    token.forget()
    assert await token.token() == "t-2"


@pytest.mark.parametrize(
    ("status", "until"),
    [
        ({}, math.inf),
        ({"expirationTimestamp": None}, math.inf),
        ({"expirationTimestamp": "2026-01-02T03:04:05Z"}, 1767323045.0),
        ({"expirationTimestamp": "2026-01-02T05:04:05+02:00"}, 1767323045.0),
    ],
)
def test_expiry_of_a_token_is_that_which_the_plugin_prints(
    tmp_path: Path, status: dict[str, Any], until: float
) -> None:
    plugin = {"apiVersion": V1, "command": "echo", "args": [credential(**status)], "interactiveMode": "Never"}
    assert run_plugin(plugin, {}, tmp_path / "config") == ("t-1", until)


@pytest.mark.parametrize(
    ("script", "plugin", "said"),
    [
        ("exit 3", {}, "plugin ended with exit code 3"),
        ("echo hunter2", {}, "did not print an ExecCredential"),
        (f"echo '{credential(expirationTimestamp='soon')}'", {}, "did not print an ExecCredential"),
        ("echo '{}'", {}, f"did not print an ExecCredential of {V1}"),
        (f"echo '{credential(version=BETA)}'", {}, f"did not print an ExecCredential of {V1}"),
        (f"echo '{credential('')}'", {}, "gave no bearer token; client certificates are not supported"),
        ("", {"command": "no-such-plugin"}, "cannot run the credential plugin no-such-plugin: No such file"),
        ("", {"command": "no-such-plugin", "installHint": "Install it.\n"}, r"directory\. Install it\.$"),
        ("", {"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "v1alpha1', which is not supported"),
    ],
)
async def test_failures_of_plugins_are_told_and_quote_nothing(
    ask: Ask, script: str, plugin: dict[str, Any], said: str
) -> None:
    with pytest.raises(AccessError, match=said) as caught:
        await ask(script, **plugin)
    assert "hunter2" not in str(caught.value)


async def test_a_plugin_that_needs_a_terminal_is_not_run_without_one(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(AccessError, match="needs a terminal"):
        await ask(f"touch {tmp_path}/ran", interactiveMode="Always")
    assert not (tmp_path / "ran").exists()


def id_token(expiry: float) -> str:
    claims = base64.urlsafe_b64encode(orjson.dumps({"exp": expiry, "sub": "me"})).decode().rstrip("=")
    return f"e30.{claims}.c2ln"


async def test_token_of_an_oidc_login_is_read_again_after_it_was_refused(tmp_path: Path) -> None:
    first, second = id_token(time.time() + 3600), id_token(time.time() + 7200)
    path = tmp_path / "config"
    write_kubeconfig(path, {"auth-provider": {"name": "oidc", "config": {"id-token": first}}})
    token = (await load_connection(path)).token
    assert token is not None
    assert await token.token() == first

    write_kubeconfig(path, {"auth-provider": {"name": "oidc", "config": {"id-token": second}}})
    token.forget()
    assert await token.token() == second


@pytest.mark.parametrize(
    "provider",
    [
        {"name": "oidc", "config": {"id-token": id_token(1000), "refresh-token": "hunter2"}},
        {"name": "oidc", "config": {"id-token": "hunter2"}},
        {"name": "oidc"},
        {"name": "gcp"},
    ],
    ids=["expired", "no-token", "no-login", "of-another-cloud"],
)
def test_logins_that_cannot_be_used_name_the_kubeconfig(tmp_path: Path, provider: dict[str, Any]) -> None:
    path = write_kubeconfig(tmp_path / "config", {"auth-provider": provider})
    with pytest.raises(AccessError, match=r"its auth-provider (failed|gave no bearer token)") as caught:
        ask_auth_provider(path, None)
    assert str(path) in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_login_without_the_official_client_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    path = write_kubeconfig(tmp_path / "config", {"auth-provider": {"name": "oidc"}})
    with pytest.raises(AccessError, match=r"pip install 'rukpak-py\[operator\]'"):
        ask_auth_provider(path, None)

"""Bearer tokens that a kubeconfig does not hold: of a credential plugin (`exec`) or an OIDC login (`auth-provider`).

A plugin is run as client-go runs it: with the environment, the terminal and, when it asks for them, the facts of the
cluster; its answer is an ExecCredential, which holds until it expires or is refused. Its standard error goes to ours,
because logins print there. A login of the older kind is left to the `kubernetes` package, imported only for it.
"""

import base64
import math
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from rukpak_py.core.errors import AccessError

API_VERSIONS = frozenset({"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"})
CLUSTER_CONFIG = "client.authentication.k8s.io/exec"  # the extension of a cluster that its plugins read
CLUSTER_FIELDS = (
    "server",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "certificate-authority-data",
    "proxy-url",
    "disable-compression",
)
LOGIN_SECONDS = 60.0  # for which the token of an OIDC login is kept: its expiry is the official client's business


class ExpiringToken(NamedTuple):
    text: str
    until: float  # by the wall clock; infinity: until it is refused


class _Status(msgspec.Struct):
    token: str = ""
    expirationTimestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None  # noqa: N815 - the name of the API
    clientCertificateData: str = ""  # noqa: N815 - the name of the API


class _Credential(msgspec.Struct):
    apiVersion: str = ""  # noqa: N815 - the same
    kind: str = ""
    status: _Status | None = None


def run_plugin(plugin: Mapping[str, Any], cluster: Mapping[str, Any], kubeconfig: Path) -> ExpiringToken:
    """The token that the plugin prints. Blocks for as long as the plugin runs, which may be a login."""
    version, interactive = plugin.get("apiVersion"), _is_interactive(plugin, kubeconfig)
    if version not in API_VERSIONS:
        raise AccessError(f"{kubeconfig}: the credential plugin has apiVersion {version!r}, which is not supported")
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.get("provideClusterInfo"):
        spec["cluster"] = _cluster_info(cluster, kubeconfig)
    info = {"apiVersion": version, "kind": "ExecCredential", "spec": spec}
    given = {str(one.get("name")): str(one.get("value", "")) for one in plugin.get("env") or []}
    environ = {**os.environ, **given, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}
    command = _command(plugin, kubeconfig)
    try:
        ran = subprocess.run(  # noqa: S603 - the user's own kubeconfig names it
            [command, *map(str, plugin.get("args") or [])],
            env=environ,
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            check=False,
        )
    except OSError as error:
        hint = plugin.get("installHint")
        advice = f". {str(hint).strip()}" if hint else ""
        raise AccessError(
            f"{kubeconfig}: cannot run the credential plugin {command}: {error.strerror}{advice}"
        ) from None
    if ran.returncode:
        raise AccessError(f"{kubeconfig}: the credential plugin {command} ended with exit code {ran.returncode}")
    return _token_of(ran.stdout, version, f"{kubeconfig}: the credential plugin {command}")


def ask_auth_provider(kubeconfig: Path, context: str | None) -> ExpiringToken:
    """The token of an OIDC login, which the official client renews where it has expired."""
    try:
        from kubernetes import client, config  # noqa: PLC0415 - of the extra `operator`; hardly any kubeconfig needs it
    except ImportError:
        raise AccessError(
            f"{kubeconfig}: its auth-provider needs the package kubernetes: pip install 'rukpak-py[operator]', or use "
            "a credential plugin (exec)"
        ) from None
    configuration = client.Configuration()
    try:
        config.load_kube_config(str(kubeconfig), context=context, client_configuration=configuration)  # type: ignore[no-untyped-call]  # ships no types
    except Exception as error:  # noqa: BLE001 - whatever it raises may quote the token
        raise AccessError(f"{kubeconfig}: its auth-provider failed: {type(error).__name__}") from None
    header = configuration.get_api_key_with_prefix("BearerToken", "authorization") or ""
    if not header.startswith("Bearer "):
        raise AccessError(f"{kubeconfig}: its auth-provider gave no bearer token; log in again, or use exec")
    return ExpiringToken(str(header.removeprefix("Bearer ")), time.time() + LOGIN_SECONDS)


def _is_interactive(plugin: Mapping[str, Any], kubeconfig: Path) -> bool:
    mode = plugin.get("interactiveMode") or "IfAvailable"
    terminal = sys.stdin is not None and sys.stdin.isatty()
    if mode == "Always" and not terminal:
        raise AccessError(f"{kubeconfig}: the credential plugin needs a terminal, and standard input is none")
    return bool(mode != "Never" and terminal)


def _command(plugin: Mapping[str, Any], kubeconfig: Path) -> str:
    """A name is looked up on PATH; a path is relative to the kubeconfig."""
    command = str(plugin.get("command") or "")
    return str(kubeconfig.absolute().parent / command) if os.sep in command else command


def _cluster_info(cluster: Mapping[str, Any], kubeconfig: Path) -> dict[str, Any]:
    info = {name: cluster[name] for name in CLUSTER_FIELDS if name in cluster}
    if "certificate-authority-data" not in info and cluster.get("certificate-authority"):
        authority = (kubeconfig.parent / cluster["certificate-authority"]).read_bytes()
        info["certificate-authority-data"] = base64.b64encode(authority).decode()
    for extension in cluster.get("extensions") or []:
        if extension.get("name") == CLUSTER_CONFIG:
            info["config"] = extension.get("extension")
    return info


def _token_of(printed: bytes, version: str, subject: str) -> ExpiringToken:
    """Nothing that was printed is quoted: it may be a credential."""
    try:
        credential = msgspec.json.decode(printed, type=_Credential)
    except msgspec.DecodeError:
        raise AccessError(f"{subject} did not print an ExecCredential") from None
    if credential.kind != "ExecCredential" or credential.apiVersion != version:
        raise AccessError(f"{subject} did not print an ExecCredential of {version}")
    if credential.status is None or not credential.status.token:
        raise AccessError(f"{subject} gave no bearer token; client certificates are not supported")
    end = credential.status.expirationTimestamp
    return ExpiringToken(credential.status.token, end.timestamp() if end is not None else math.inf)

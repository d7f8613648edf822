"""How to reach the API server: from a kubeconfig, or from inside a pod.

Order: the path that is given, `KUBECONFIG` (its first existing file), the pod's service account, `~/.kube/config`.
Nothing here is logged, and the `repr` of a `Connection` shows no credential.

A bearer token lives in memory only, and is asked for on every request. Service-account tokens are rotated by rewriting
their file, so a file is read again when it changes. After a 401 the transport calls `forget`, which makes the next
`token` come from the source.
"""

import asyncio
import base64
import binascii
import os
import ssl
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import yaml

from rukpak_py.core.errors import AccessError
from rukpak_py.kube.credential_plugins import ExpiringToken, ask_auth_provider, run_plugin

FILE_CHECK_SECONDS = 1.0


class TokenSource(Protocol):
    async def token(self) -> str: ...

    def forget(self) -> None: ...


class FixedToken:
    def __init__(self, token: str) -> None:
        self._token = token

    async def token(self) -> str:
        return self._token

    def forget(self) -> None:
        """There is no other token to fall back on."""


class FileToken:
    """Follows a file. While it cannot be read, the token read last is used."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._token = ""
        self._mark: tuple[int, int, int] | None = None
        self._checked = float("-inf")

    async def token(self) -> str:
        now = self._clock()
        if now - self._checked >= FILE_CHECK_SECONDS or not self._token:
            self._checked = now
            self._read()
        return self._token

    def forget(self) -> None:
        self._checked = float("-inf")
        self._mark = None

    def _read(self) -> None:
        try:
            stat = self._path.stat()
            mark = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
            if mark == self._mark and self._token:
                return
            self._token, self._mark = self._path.read_text().strip(), mark
        except (OSError, UnicodeDecodeError) as error:
            if not self._token:
                raise AccessError(
                    f"cannot read the API server token file {self._path}: {type(error).__name__}"
                ) from None


class CommandToken:
    """The token of an exec or OIDC plugin. `ask` runs the plugin and blocks, so it gets a thread, one at a time.

    It is asked again only after the token expired or was refused: some plugins prompt their user each time.
    """

    def __init__(self, ask: Callable[[], ExpiringToken], *, clock: Callable[[], float] = time.time) -> None:
        self._ask = ask
        self._clock = clock
        self._token: ExpiringToken | None = None
        self._lock = asyncio.Lock()

    async def token(self) -> str:
        async with self._lock:
            token = self._token
            if token is None or self._clock() >= token.until:
                token = self._token = await asyncio.to_thread(self._ask)
        return token.text

    def forget(self) -> None:
        self._token = None


SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, kw_only=True)
class Connection:
    server: str
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    token: TokenSource | None = field(default=None, repr=False)
    proxy: str | None = field(default=None, repr=False)  # may hold a password
    server_name: str | None = None  # the name in the server's certificate, where it is not the address
    namespace: str = "default"
    client_pair: bytes | None = field(default=None, repr=False)  # PEM: the client's certificate and its key
    anonymous_tls: ssl.SSLContext | None = field(default=None, repr=False)  # as `tls`, without that certificate

    def as_bearer(self, token: str) -> "Connection":
        """The same server for another user, who has this token: no credential of this connection goes with it."""
        if not token:
            raise AccessError("there is no bearer token")
        return Connection(
            server=self.server,
            tls=self.anonymous_tls,
            token=FixedToken(token),
            proxy=self.proxy,
            server_name=self.server_name,
            namespace=self.namespace,
            anonymous_tls=self.anonymous_tls,
        )

    def identify(self, tls: ssl.SSLContext) -> None:
        """Have it show the client's certificate, if there is one, to another server that the cluster vouches for."""
        if self.client_pair is not None:
            _load_pair(tls, self.client_pair)


async def load_connection(
    kubeconfig: Path | None = None,
    context: str | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> Connection:
    """The connection that the place we run in offers; raises `AccessError` that says what was looked for."""
    return await asyncio.to_thread(_load, kubeconfig, context, environ, service_account)


def _load(given: Path | None, context: str | None, environ: Mapping[str, str], service_account: Path) -> Connection:
    home = Path(environ.get("HOME", "/")) / ".kube" / "config"
    named = [Path(part) for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    for path in [given] if given else named:
        if path.is_file():
            return _from_kubeconfig(path, context)
    if given or named:
        looked = ", ".join(str(path) for path in ([given] if given else named))
        raise AccessError(f"there is no kubeconfig at {looked}")
    if environ.get("KUBERNETES_SERVICE_HOST") and (service_account / "token").exists():
        return _in_cluster(environ, service_account)
    if home.is_file():
        return _from_kubeconfig(home, context)
    raise AccessError(f"no API server: not in a pod, KUBECONFIG is not set, and there is no {home}")


def _in_cluster(environ: Mapping[str, str], folder: Path) -> Connection:
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT", "443")
    namespace = folder / "namespace"
    tls = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    return Connection(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        tls=tls,
        anonymous_tls=tls,
        token=FileToken(folder / "token"),
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
    )


def _from_kubeconfig(path: Path, context: str | None) -> Connection:
    config = _read_kubeconfig(path)
    name = context or config.get("current-context")
    chosen = _entry(config, "contexts", "context", name, path)
    cluster = _entry(config, "clusters", "cluster", chosen.get("cluster"), path)
    account = chosen.get("user")
    user = _entry(config, "users", "user", account, path) if account else {}
    server = cluster.get("server")
    if not isinstance(server, str):
        raise AccessError(f"{path}: the cluster of context {name!r} has no server")
    try:
        return Connection(
            server=server.rstrip("/"),
            tls=_tls(cluster, user, path.parent) if server.startswith("https:") else None,
            anonymous_tls=_tls(cluster, {}, path.parent) if server.startswith("https:") else None,
            token=_token(user, cluster, path, name),
            proxy=cluster.get("proxy-url"),
            server_name=cluster.get("tls-server-name"),
            namespace=chosen.get("namespace") or "default",
            client_pair=_client_pair(user, path.parent),
        )
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError, binascii.Error a ValueError
        raise AccessError(
            f"{path}: the certificates of context {name!r} are unusable: {type(error).__name__}"
        ) from None


def _read_kubeconfig(path: Path) -> dict[str, Any]:
    try:
        config = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        raise AccessError(f"{path} is not YAML") from None  # the parser's message quotes the file, credentials included
    except OSError as error:
        raise AccessError(f"cannot read {path}: {error.strerror}") from error
    if not isinstance(config, dict):
        raise AccessError(f"{path} is not a kubeconfig")
    return config


def _entry(config: dict[str, Any], group: str, kind: str, name: object, path: Path) -> dict[str, Any]:
    for entry in config.get(group) or []:
        if isinstance(entry, dict) and entry.get("name") == name and isinstance(entry.get(kind), dict):
            found: dict[str, Any] = entry[kind]
            return found
    raise AccessError(f"{path} has no {kind} named {name!r}")


def _tls(cluster: dict[str, Any], user: dict[str, Any], folder: Path) -> ssl.SSLContext:
    authority = _material(cluster, "certificate-authority", folder)
    tls = ssl.create_default_context(cadata=authority.decode() if authority else None)
    if cluster.get("insecure-skip-tls-verify"):
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    if pair := _client_pair(user, folder):
        _load_pair(tls, pair)
    return tls


def _client_pair(user: dict[str, Any], folder: Path) -> bytes | None:
    certificate, key = _material(user, "client-certificate", folder), _material(user, "client-key", folder)
    return certificate + b"\n" + key if certificate and key else None


def _load_pair(tls: ssl.SSLContext, pair: bytes) -> None:
    """The ssl module reads pairs from files only; this one is private and gone at once."""
    with tempfile.NamedTemporaryFile(mode="wb", prefix="rukpak-") as file:  # created with mode 0600
        file.write(pair)
        file.flush()
        tls.load_cert_chain(file.name)


def _material(entry: dict[str, Any], name: str, folder: Path) -> bytes | None:
    """`<name>-data` in base64, else the file `<name>` names, relative to the kubeconfig."""
    data, file = entry.get(f"{name}-data"), entry.get(name)
    if data:
        try:
            return base64.b64decode(data, validate=False)
        except binascii.Error:
            raise ValueError(name) from None
    return (folder / file).read_bytes() if file else None


def _token(user: dict[str, Any], cluster: dict[str, Any], path: Path, context: str | None) -> TokenSource | None:
    if user.get("token"):
        return FixedToken(str(user["token"]))
    if user.get("tokenFile"):
        return FileToken(path.parent / user["tokenFile"])
    if user.get("exec"):
        return CommandToken(lambda: run_plugin(user["exec"], cluster, path))
    if user.get("auth-provider"):
        return CommandToken(lambda: ask_auth_provider(path, context))
    return None

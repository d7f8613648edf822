"""Access to a git server, from the spec and its Secret: our credentials, and how we verify the server.

`GitAccess` is checked before any process is started. Secrets leave it in two ways only: a password as a header in the
environment of git, a key in a file of the fetch's private directory.
"""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from urllib.parse import quote

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

from rukpak_py.api.source_types import GitSource
from rukpak_py.core.errors import AccessError, RukPakError, UnavailableError
from rukpak_py.sources.git.remote import Remote
from rukpak_py.sources.logins import Login, Logins, Recipient
from rukpak_py.sources.source import FetchRequest
from rukpak_py.sources.tls import check_ca_bundle

_PREFIX = "configuring Auth error: "


def _anywhere(_: Remote) -> None:
    """The login is that of the URL, or there is none."""


@dataclass(frozen=True, kw_only=True)
class GitAccess:
    """`check` raises AccessError for a place that the login may not go to, where the server redirects there."""

    check: Callable[[Remote], None] = _anywhere
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    private_key: str = field(default="", repr=False)
    known_hosts: str = ""
    is_verified: bool = True
    ca_bundle: str = ""

    @property
    def basic(self) -> str:
        """The credentials as HTTP sends them; empty without any."""
        if not (self.user or self.password):
            return ""
        return base64.b64encode(f"{self.user}:{self.password}".encode()).decode()

    def redacted(self, text: str) -> str:
        """A text of the server or of git, without the secrets that it may have repeated."""
        lines = (line for line in self.private_key.splitlines() if not line.startswith("-----"))
        alone = self.password or self.user  # a token may stand in the place of the user
        for secret in sorted({self.basic, alone, quote(alone, safe=""), *lines} - {""}, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text


async def access_to(remote: Remote, spec: GitSource, logins: Logins, request: FetchRequest) -> GitAccess:
    """AccessError for what is missing in the Secret; `UnavailableError` when the Secret is not there."""
    check_ca_bundle(spec.ca_bundle)
    login = await _login(remote, spec.auth.secret.name, logins, request)
    data = login.data if login is not None else None
    access = _ssh_access(spec, data) if remote.is_ssh else _web_access(remote, spec, data)
    return access if login is None else replace(access, check=partial(_check, login))


async def _login(remote: Remote, name: str, logins: Logins, request: FetchRequest) -> Login | None:
    try:
        if name:
            return await logins.for_server(name, _recipient(remote), request)
        if not remote.is_ssh and (remote.user or remote.password):
            logins.check_transport(_recipient(remote))
    except RukPakError as error:
        raise _prefixed(error) from error
    return None


def _check(login: Login, remote: Remote) -> None:
    try:
        login.check(_recipient(remote))
    except RukPakError as error:
        raise _prefixed(error) from error


def _recipient(remote: Remote) -> Recipient:
    return Recipient(scheme=remote.scheme, host=remote.host, port=remote.port)


def _prefixed(error: RukPakError) -> RukPakError:
    if isinstance(error, UnavailableError):
        return UnavailableError(f"{_PREFIX}{error}", retry_after=error.retry_after)
    return type(error)(f"{_PREFIX}{error}")


def _web_access(remote: Remote, spec: GitSource, data: Mapping[str, bytes] | None) -> GitAccess:
    """A Secret goes before what the URL holds."""
    user, password = remote.user, remote.password
    if data is not None:
        user, password = _text(data, "username", spec), _text(data, "password", spec)
        if not (user or password):
            raise AccessError(f"{_PREFIX}Secret {spec.auth.secret.name} has neither username nor password")
    return GitAccess(
        user=user, password=password, is_verified=not spec.auth.insecure_skip_verify, ca_bundle=spec.ca_bundle
    )


def _ssh_access(spec: GitSource, data: Mapping[str, bytes] | None) -> GitAccess:
    name = spec.auth.secret.name
    if data is None:
        raise AccessError(
            f"{_PREFIX}ssh needs a key: auth.secret.name must name a Secret with ssh-privatekey and ssh-knownhosts"
        )
    key = _text(data, "ssh-privatekey", spec).replace("\r\n", "\n").strip()
    if not key:
        raise AccessError(f"{_PREFIX}Secret {name} has no ssh-privatekey")
    known_hosts = _text(data, "ssh-knownhosts", spec).replace("\r\n", "\n")
    is_verified = not spec.auth.insecure_skip_verify
    if is_verified and not known_hosts.strip():
        raise AccessError(
            f"{_PREFIX}Secret {name} has no ssh-knownhosts: add the output of `ssh-keyscan HOST`, after checking it"
        )
    _check_key(f"{key}\n".encode(), name)
    return GitAccess(private_key=f"{key}\n", known_hosts=known_hosts, is_verified=is_verified)


def _check_key(key: bytes, name: str) -> None:
    """Refuse a bad key, of which ssh says no more than that the server refuses it. ssh may know other kinds of keys."""
    load = load_ssh_private_key if b"OPENSSH" in key else load_pem_private_key
    try:
        load(key, password=None)
    except TypeError as error:
        raise AccessError(f"{_PREFIX}Secret {name}: ssh-privatekey has a passphrase: store it without") from error
    except ValueError as error:
        raise AccessError(f"{_PREFIX}Secret {name}: ssh-privatekey is not a private key in PEM") from error
    except UnsupportedAlgorithm:
        pass


def _text(data: Mapping[str, bytes], key: str, spec: GitSource) -> str:
    try:
        return data.get(key, b"").decode()
    except UnicodeDecodeError as error:
        raise AccessError(f"{_PREFIX}Secret {spec.auth.secret.name}: {key} is not UTF-8") from error

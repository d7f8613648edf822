"""Who we are for a git server, and how we know that it is the right one: from the spec and its Secret.

`GitAccess` is checked before any process is started. Secrets leave it in two ways only: a password as a header in the
environment of git, a key in a file of the fetch's private directory.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

from rukpak_py.api.source import GitSource
from rukpak_py.core.errors import AccessError, RukPakError, UnavailableError
from rukpak_py.sources.git.remote import Remote
from rukpak_py.sources.ports import Credentials
from rukpak_py.sources.tls import check_ca_bundle

SETTING = "--allow-plain-http-credentials"
_PREFIX = "configuring Auth error: "


@dataclass(frozen=True, kw_only=True)
class GitAccess:
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
        """What a server or git says, without the secrets that it may have repeated."""
        lines = (line for line in self.private_key.splitlines() if not line.startswith("-----"))
        alone = self.password or self.user  # a token may stand in the place of the user
        for secret in sorted({self.basic, alone, quote(alone, safe=""), *lines} - {""}, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text


async def access_to(
    remote: Remote, spec: GitSource, credentials: Credentials, *, allow_plain_http_credentials: bool
) -> GitAccess:
    """AccessError for what is missing in the Secret; `UnavailableError` when the Secret is not there."""
    check_ca_bundle(spec.ca_bundle)
    data = await _secret(spec.auth.secret.name, credentials)
    access = _ssh_access(spec, data) if remote.is_ssh else _web_access(remote, spec, data)
    if access.basic and remote.scheme == "http" and not allow_plain_http_credentials:
        raise AccessError(
            f"{_PREFIX}credentials are not sent over plain http: use https, or start the operator with {SETTING}"
        )
    return access


async def _secret(name: str, credentials: Credentials) -> Mapping[str, bytes] | None:
    if not name:
        return None
    try:
        return await credentials.secret(name)
    except UnavailableError as error:
        raise UnavailableError(f"{_PREFIX}{error}", retry_after=error.retry_after) from error
    except RukPakError as error:
        raise type(error)(f"{_PREFIX}{error}") from error


def _web_access(remote: Remote, spec: GitSource, data: Mapping[str, bytes] | None) -> GitAccess:
    """A Secret goes before what the URL holds."""
    user, password = remote.user, remote.password
    if data is not None:
        user, password = _text(data, "username", spec), _text(data, "password", spec)
        if not (user or password):
            raise AccessError(f'{_PREFIX}secret "{spec.auth.secret.name}" has neither username nor password')
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
        raise AccessError(f'{_PREFIX}secret "{name}" has no ssh-privatekey')
    known_hosts = _text(data, "ssh-knownhosts", spec).replace("\r\n", "\n")
    is_verified = not spec.auth.insecure_skip_verify
    if is_verified and not known_hosts.strip():
        raise AccessError(
            f'{_PREFIX}secret "{name}" has no ssh-knownhosts: add the output of `ssh-keyscan HOST`, after checking it'
        )
    _check_key(f"{key}\n".encode(), name)
    return GitAccess(private_key=f"{key}\n", known_hosts=known_hosts, is_verified=is_verified)


def _check_key(key: bytes, name: str) -> None:
    """What ssh says about a bad key is that the server refuses it. It may know kinds of keys that we do not."""
    load = load_ssh_private_key if b"OPENSSH" in key else load_pem_private_key
    try:
        load(key, password=None)
    except TypeError as error:
        raise AccessError(f'{_PREFIX}secret "{name}": ssh-privatekey has a passphrase: store it without') from error
    except ValueError as error:
        raise AccessError(f'{_PREFIX}secret "{name}": ssh-privatekey is not a private key in PEM') from error
    except UnsupportedAlgorithm:
        pass


def _text(data: Mapping[str, bytes], key: str, spec: GitSource) -> str:
    try:
        return data.get(key, b"").decode()
    except UnicodeDecodeError as error:
        raise AccessError(f'{_PREFIX}secret "{spec.auth.secret.name}": {key} is not UTF-8') from error

"""Credentials for servers: every Secret comes through here, so no source can leave out a check.

* A Secret of the operator itself is never given out.
* A Secret goes only to hosts that its annotation `core.rukpak.io/hosts` names, with the setting; without it a Warning
  says once for each Bundle, Secret and host what would be refused. Pull secrets of the two types of Kubernetes name
  their hosts themselves, for the image source only: of other keys that they have nothing is said there.
* Nothing goes over plain http, unless the setting allows that.

What was warned of is remembered by this process alone, up to a number: a second Warning does no harm.

The annotation's entries are separated by commas. Case and a final dot do not count, and one entry that cannot be read
makes the whole annotation invalid, so that a mistake never opens more than what was meant:

* `git.example.com`: this host, on any port; `git.example.com:8443`: on this port alone
* `*.example.com`, with a port or without: exactly one label in the place of the asterisk, as in a certificate; neither
  `example.com` nor `a.b.example.com`, and no IP address
* `10.0.0.5`, `[fd12::1]:8443`: an IP address; IPv6 in brackets
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from typing import Final

from rukpak_py.api.names import HOSTS_ANNOTATION
from rukpak_py.api.own_secrets import own_by_name
from rukpak_py.core.errors import AccessError, ContentError
from rukpak_py.sources.addresses import numeric_addresses
from rukpak_py.sources.source import Credentials, FetchRequest, SourceSecret

_ENTRY: Final = re.compile(
    r"(?P<host>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9*._-]{1,255})(?::(?P<port>[0-9]{1,5}))?", re.ASCII
)
_LABEL: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", re.ASCII)
_ANY_LABEL: Final = "*."
_HIGHEST_PORT: Final = 65535
_SHOWN: Final = 100
_FORMS: Final = "write git.example.com, git.example.com:8443, *.example.com or [fd12::1]:8443"


@dataclass(frozen=True, kw_only=True, slots=True)
class HostPattern:
    """`port` None: any."""

    host: str
    port: int | None = None

    def matches(self, host: str, port: int) -> bool:
        if self.port not in {None, port}:
            return False
        host = _canonical(host)
        if not self.host.startswith(_ANY_LABEL):
            return host == self.host
        label, _, rest = host.partition(".")
        return bool(label) and f"{_ANY_LABEL}{rest}" == self.host and not _is_address(host)


def parse_hosts(text: str) -> tuple[HostPattern, ...]:
    """ValueError, with a message for the user, when any entry cannot be read."""
    return tuple(_pattern(entry) for part in text.split(",") if (entry := part.strip()))


def is_named(host: str, port: int, patterns: Sequence[HostPattern]) -> bool:
    return any(pattern.matches(host, port) for pattern in patterns)


def _pattern(entry: str) -> HostPattern:
    found = _ENTRY.fullmatch(entry)
    if found is None or not _is_port(found["port"]) or not _is_host(found["host"]):
        raise ValueError(f"{entry[:_SHOWN]!r} is not a host: {_FORMS}")
    return HostPattern(host=_canonical(found["host"]), port=int(found["port"]) if found["port"] else None)


def _is_port(text: str | None) -> bool:
    return text is None or 0 < int(text) <= _HIGHEST_PORT


def _is_host(text: str) -> bool:
    """An IP address as it is usually written; a name, whose first label may be an asterisk."""
    if text.startswith("["):
        return _is_address(text.strip("[]")) and ":" in text
    name = text.lower().removesuffix(".")
    labels = name.removeprefix(_ANY_LABEL).split(".")
    try:
        is_number = bool(numeric_addresses(labels[-1]))
    except ContentError:
        is_number = True
    return _is_address(name) if is_number else all(_LABEL.fullmatch(label) for label in labels)


def _is_address(text: str) -> bool:
    try:
        return bool(ip_address(text))
    except ValueError:
        return False


def _canonical(host: str) -> str:
    bare = host.strip("[]").lower().removesuffix(".")
    return str(ip_address(bare)) if _is_address(bare) else bare


BIND_SETTING: Final = "--bind-secrets-to-hosts"
PLAIN_HTTP_SETTING: Final = "--allow-plain-http-credentials"
_PULL_SECRET_TYPES: Final = frozenset({"kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg"})
CONFIG_JSON_KEY: Final = ".dockerconfigjson"  # of pull secrets, one for each type
LEGACY_CONFIG_KEY: Final = ".dockercfg"
_MOST_REMEMBERED: Final = 4096

Warn = Callable[[FetchRequest, str], None]


class OwnSecretError(ContentError):
    """The source names a Secret of the operator."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoginPolicy:
    """The settings of these names."""

    bind_secrets_to_hosts: bool = False
    allow_plain_http_credentials: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipient:
    """The server that a login goes to. `host` is without the brackets of an IPv6 address."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Login:
    """`check` raises AccessError for another place that it may not go to, after a redirect; from any thread."""

    data: Mapping[str, bytes] = field(repr=False)
    check: Callable[[Recipient], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class PullSecret:
    """The keys of a Secret that make it a pull secret, and its version."""

    data: Mapping[str, bytes] = field(repr=False)
    version: str


class Logins:
    def __init__(self, secrets: Credentials, policy: LoginPolicy, *, warn: Warn) -> None:
        """`warn` is told of a Secret that the setting would not send."""
        self._secrets = secrets
        self._policy = policy
        self._warn = warn
        self._warned: dict[tuple[str, str, str], None] = {}  # by uid, Secret and recipient; the oldest first

    async def for_server(self, name: str, recipient: Recipient, request: FetchRequest) -> Login:
        """The Secret, whatever its type, for this server. AccessError, or UnavailableError when it is missing."""
        self.check_transport(recipient)
        secret = await self._read(name)
        self._check(name, secret, recipient, request)
        return Login(data=secret.data, check=partial(self._refuse, name, secret))

    async def for_registry(self, name: str, recipient: Recipient, request: FetchRequest) -> PullSecret:
        """Read the keys that make the Secret a pull secret; the names of registries in it decide what is sent where."""
        secret = await self._read(name)
        found = {key: value for key, value in secret.data.items() if key in {CONFIG_JSON_KEY, LEGACY_CONFIG_KEY}}
        if found and secret.type not in _PULL_SECRET_TYPES:
            self._check(name, secret, recipient, request)
        return PullSecret(data=found, version=secret.version)

    async def check_pull_secret(self, name: str) -> None:
        """Check a Secret that nodes read themselves. Raises OwnSecretError, or UnavailableError when it is missing."""
        await self._read(name)

    def check_transport(self, recipient: Recipient) -> None:
        """Refuse plain http, also for logins in a URL."""
        if recipient.scheme == "http" and not self._policy.allow_plain_http_credentials:
            raise AccessError(
                f"credentials are not sent over plain http: use https, or start the operator with {PLAIN_HTTP_SETTING}"
            )

    async def _read(self, name: str) -> SourceSecret:
        refuse_own_name(name)
        secret = await self._secrets.secret(name)
        if secret.own:
            raise OwnSecretError(secret.own)
        return secret

    def _check(self, name: str, secret: SourceSecret, recipient: Recipient, request: FetchRequest) -> None:
        self._refuse(name, secret, recipient)
        obstacle = _obstacle(secret, recipient)
        key = request.uid, name, str(recipient)
        if obstacle and key not in self._warned:
            if len(self._warned) >= _MOST_REMEMBERED:
                del self._warned[next(iter(self._warned))]
            self._warned[key] = None
            self._warn(request, f"Secret {name} is sent to {recipient}, which {BIND_SETTING} would refuse: {obstacle}")

    def _refuse(self, name: str, secret: SourceSecret, recipient: Recipient) -> None:
        if self._policy.bind_secrets_to_hosts and (obstacle := _obstacle(secret, recipient)):
            raise AccessError(f"Secret {name} may not be sent to {recipient}: {obstacle}")


def refuse_own_name(name: str) -> None:
    if refusal := own_by_name(name):
        raise OwnSecretError(refusal)


def _obstacle(secret: SourceSecret, recipient: Recipient) -> str:
    """The reason that the Secret may not go to this host, and what to do; empty when it may."""
    annotation = f"annotation {HOSTS_ANNOTATION}"
    if secret.hosts is None:
        return f'it has no {annotation}. If the Secret is meant for this host, set the annotation to "{recipient}"'
    try:
        patterns = parse_hosts(secret.hosts)
    except ValueError as error:
        return f"its {annotation} is invalid: {error}"
    if is_named(recipient.host, recipient.port, patterns):
        return ""
    return (
        f'its {annotation} does not name this host. If the Secret is meant for it, add "{recipient}" to the annotation'
    )

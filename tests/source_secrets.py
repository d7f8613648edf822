"""Secrets of the system namespace for sources without a cluster, and the logins that sources take from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rukpak_py.core.errors import UnavailableError
from rukpak_py.sources.logins import LoginPolicy, Logins
from rukpak_py.sources.source import Credentials, FetchRequest, SourceSecret

# Servers of tests speak plain http where TLS is not what is tested.
STRICT = LoginPolicy()
LENIENT = LoginPolicy(allow_plain_http_credentials=True)


class Secrets:
    """The sources' `Credentials`. A mapping is an Opaque Secret without annotations."""

    def __init__(self, **secrets: Mapping[str, bytes] | SourceSecret) -> None:
        self.read: list[str] = []  # the names, in their order
        self.secrets = {
            name: one if isinstance(one, SourceSecret) else SourceSecret(data=one) for name, one in secrets.items()
        }

    async def secret(self, name: str) -> SourceSecret:
        self.read.append(name)
        if name not in self.secrets:
            raise UnavailableError(f'get secret rukpak-system/{name}: Secret "{name}" not found')
        return self.secrets[name]


@dataclass
class Warnings:
    """Warnings so far: the Bundle's uid and the message."""

    seen: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, request: FetchRequest, message: str) -> None:
        self.seen.append((request.uid, message))


def logins(secrets: Credentials | None = None, policy: LoginPolicy = STRICT, *, warn: Warnings | None = None) -> Logins:
    return Logins(secrets or Secrets(), policy, warn=warn or Warnings())

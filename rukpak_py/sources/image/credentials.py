"""Logins for registries, as the files of docker and the pull secrets of Kubernetes have them.

Which of them an image is pulled with is decided by Kubernetes' rules (`Keychain`): a key is a host whose labels may be
globs, with the port, and possibly the beginning of a path; the longest key comes first, and whatever fits is tried in
turn. Nothing that is found here is ever part of a message.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, TypeVar

import msgspec

from rukpak_py.core.errors import AccessError
from rukpak_py.sources.image.reference import ImageReference
from rukpak_py.sources.logins import CONFIG_JSON_KEY, LEGACY_CONFIG_KEY

_DOCKER_HUB: Final = "index.docker.io"
_TOKEN_USER: Final = "<token>"  # noqa: S105 - how an identity token is marked, in place of a user
_VERSION: Final = re.compile(r"^/v[12](?=/)")
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class RegistryCredentials:
    """A password, or an identity token, which only token services take."""

    user: str = ""
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)


class ConfiguredCredentials(msgspec.Struct):
    auth: str | None = None
    username: str | None = None
    password: str | None = None
    identitytoken: str | None = None

    def credentials(self) -> RegistryCredentials | None:
        """The credentials; None for an empty entry, ValueError, without its content, for a broken one."""
        user, password = self.username or "", self.password or ""
        if self.auth:
            user, colon, password = _decoded(self.auth).partition(":")
            password = password.rstrip("\0")
            if not colon:
                raise ValueError("no colon")
        if self.identitytoken:
            return RegistryCredentials(user=user, identity_token=self.identitytoken)
        return login(user, password)


class _Config(msgspec.Struct):
    auths: dict[str, ConfiguredCredentials] | None = None


def login(user: str, secret: str) -> RegistryCredentials | None:
    if user == _TOKEN_USER:
        return RegistryCredentials(identity_token=secret)
    return RegistryCredentials(user=user, password=secret) if user or secret else None


def _decoded(text: str) -> str:
    text = text.strip()
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError("not base64") from None


class Keychain:
    def __init__(self) -> None:
        self._found: dict[str, list[RegistryCredentials]] = {}

    def add(self, location: str, credentials: RegistryCredentials) -> None:
        """`location` is how a file names a registry: with a scheme or without, with a path or without."""
        host, slash, path = location.removeprefix("https://").removeprefix("http://").partition("/")
        path = _VERSION.sub("", slash + path, count=1)
        key = host if path in {"", "/"} else host + path
        self._found.setdefault(key, []).append(credentials)

    def add_secret(self, data: Mapping[str, bytes]) -> None:
        """A pull secret of either kind; AccessError for what is none."""
        if CONFIG_JSON_KEY in data:
            entries = _document(data[CONFIG_JSON_KEY], _Config).auths or {}
        elif LEGACY_CONFIG_KEY in data:
            entries = _document(data[LEGACY_CONFIG_KEY], dict[str, ConfiguredCredentials])
        else:
            raise AccessError(f"it has neither the key {CONFIG_JSON_KEY} nor {LEGACY_CONFIG_KEY}")
        for location, entry in entries.items():
            try:
                credentials = entry.credentials()
            except ValueError:
                raise AccessError(f"its entry for {location[:200]} cannot be decoded") from None
            if credentials is not None:
                self.add(location, credentials)

    def for_image(self, reference: ImageReference) -> list[RegistryCredentials]:
        """All credentials that fit, best first."""
        keys = sorted(self._found, reverse=True)
        found = [one for key in keys if _fits(key, reference) for one in self._found[key]]
        if not found and reference.registry == "docker.io":
            found = self._found.get(_DOCKER_HUB, [])
        return list(dict.fromkeys(found))


def _document(data: bytes, form: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=form)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise AccessError("its content cannot be decoded") from None  # the parser's message may quote it


def _fits(key: str, reference: ImageReference) -> bool:
    wanted_host, slash, wanted_path = key.partition("/")
    wanted, wanted_port = _split_port(wanted_host)
    given, given_port = _split_port(reference.registry)
    labels, given_labels = wanted.split("."), given.split(".")
    return (
        wanted_port == given_port
        and f"/{reference.repository}".startswith(slash + wanted_path)
        and len(labels) == len(given_labels)
        and all(_fits_label(label, one) for label, one in zip(labels, given_labels, strict=True))
    )


def _fits_label(label: str, given: str) -> bool:
    return label == given or fnmatchcase(given, label.replace("[^", "[!"))  # as Go writes it


def _split_port(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    return (name, port) if colon and port.isdigit() else (host, "")  # IPv6 addresses have colons of their own

"""Logins for registries, as the files of docker and the pull secrets of Kubernetes have them.

Which of them an image is pulled with is decided by Kubernetes' rules (`Keychain`): a key is a host whose labels may be
globs, with the port, and possibly the beginning of a path; the longest key comes first, and whatever fits is tried in
turn. Nothing that is found here is ever part of a message.

The files of a user's own logins are, in this order: `$REGISTRY_AUTH_FILE`, `$DOCKER_CONFIG/config.json` or
`~/.docker/config.json`, and where podman, buildah and skopeo log in to: `$XDG_RUNTIME_DIR/containers/auth.json`,
`~/.config/containers/auth.json`. The first that has a login is taken; it may be for a part of a registry.
"""

import base64
import binascii
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
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


_HUB_OF_DOCKER: Final = "https://index.docker.io/v1/"  # what docker calls docker.io
_HELPER_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
_HELPER_SECONDS: Final = 60


class _DockerConfig(msgspec.Struct, rename="camel"):
    auths: dict[str, ConfiguredCredentials] | None = None
    creds_store: str = ""
    cred_helpers: dict[str, str] | None = None


class _Answer(msgspec.Struct, rename="pascal"):
    username: str = ""
    secret: str = ""


def credentials_for(reference: ImageReference) -> RegistryCredentials | None:
    """The credentials of a login there; None without one."""
    found = (_in_file(file, reference) for file in _files())
    return next((one for one in found if one is not None), None)


def _files() -> Iterator[Path]:
    if named := os.environ.get("REGISTRY_AUTH_FILE"):
        yield Path(named)
    yield Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker") / "config.json"
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        yield Path(runtime) / "containers/auth.json"
    yield Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "containers/auth.json"


def _in_file(file: Path, reference: ImageReference) -> RegistryCredentials | None:
    registry = reference.registry
    try:
        config = msgspec.json.decode(file.read_bytes(), type=_DockerConfig)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise AccessError(f"{file} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise AccessError(f"{file} cannot be decoded: log in again with `docker login {registry}`") from error
    for name in _names(reference):
        if helper := (config.cred_helpers or {}).get(name):
            return _of_helper(helper, name, file)
        if (entry := (config.auths or {}).get(name)) is None:
            continue
        try:
            found = entry.credentials()
        except ValueError:
            text = f"{file} has a broken entry for {registry}: log in again with `docker login {registry}`"
            raise AccessError(text) from None
        if found is not None:
            return found
        if config.creds_store:
            return _of_helper(config.creds_store, name, file)
    return None


def _names(reference: ImageReference) -> Iterator[str]:
    """Keys of a file, the closest first."""
    parts = [reference.registry, *reference.repository.split("/")]
    for count in range(len(parts), 1, -1):
        yield "/".join(parts[:count])
    yield from [_HUB_OF_DOCKER, "index.docker.io"] if reference.registry == "docker.io" else []
    yield reference.registry
    yield f"https://{reference.registry}"


def _of_helper(helper: str, name: str, file: Path) -> RegistryCredentials | None:
    if not _HELPER_NAME.fullmatch(helper):
        raise AccessError(f"{file} names a credential helper that cannot be a program")
    program = f"docker-credential-{helper}"
    try:
        done = subprocess.run(  # noqa: S603 - no shell; the user's own configuration names the program
            [program, "get"], input=name.encode(), capture_output=True, timeout=_HELPER_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AccessError(f"{program} gave no credentials for {name}: it does not run, or does not end") from error
    if done.returncode:  # what it prints then may be anything
        return None
    try:
        answer = msgspec.json.decode(done.stdout, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise AccessError(f"{program} gave an answer for {name} that cannot be decoded") from error
    return login(answer.username, answer.secret)

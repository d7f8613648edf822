"""User name and password for a registry, as `docker login` leaves them: in its config.json, or with a helper program.

The file is `$DOCKER_CONFIG/config.json`, else `~/.docker/config.json`. Nothing that is found here is ever part of a
message.
"""

import base64
import binascii
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from rukpak_py.core.errors import AccessError

_DOCKER_HUB: Final = "https://index.docker.io/v1/"  # what docker calls docker.io
_HELPER_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
_HELPER_SECONDS: Final = 60
_TOKEN_USER: Final = "<token>"  # noqa: S105 - a mark of helpers, not a secret


@dataclass(frozen=True, kw_only=True)
class Credentials:
    user: str
    password: str = field(repr=False)


class _Entry(msgspec.Struct):
    auth: str = ""
    username: str = ""
    password: str = ""
    identitytoken: str = ""


class _Config(msgspec.Struct, rename="camel"):
    auths: dict[str, _Entry] = {}
    creds_store: str = ""
    cred_helpers: dict[str, str] = {}


class _Answer(msgspec.Struct, rename="pascal"):
    username: str = ""
    secret: str = ""


def config_file() -> Path:
    return Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker") / "config.json"


def credentials_for(registry: str) -> Credentials | None:
    """None when nobody logged in there."""
    file = config_file()
    try:
        config = msgspec.json.decode(file.read_bytes(), type=_Config)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AccessError(f"{file} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise AccessError(f"{file} cannot be decoded: log in again with `docker login {registry}`") from error
    names = [_DOCKER_HUB, "index.docker.io", registry] if registry == "docker.io" else [registry, f"https://{registry}"]
    for name in names:
        if helper := config.cred_helpers.get(name):
            return _of_helper(helper, name)
        if entry := config.auths.get(name):
            if found := _of_entry(entry, registry, file):
                return found
            if config.creds_store:
                return _of_helper(config.creds_store, name)
    return None


def _of_entry(entry: _Entry, registry: str, file: Path) -> Credentials | None:
    if entry.identitytoken:
        raise AccessError(
            f"{file} has an identity token for {registry}, which is not supported: use a password or token"
        )
    if not entry.auth:
        return Credentials(user=entry.username, password=entry.password) if entry.username else None
    try:
        user, colon, password = base64.b64decode(entry.auth, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        colon = ""
    if not colon:
        raise AccessError(f"{file} has a broken entry for {registry}: log in again with `docker login {registry}`")
    return Credentials(user=user, password=password.rstrip("\0"))


def _of_helper(helper: str, name: str) -> Credentials | None:
    if not _HELPER_NAME.fullmatch(helper):
        raise AccessError(f"{config_file()} names a credential helper that cannot be a program")
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
    if answer.username == _TOKEN_USER:
        raise AccessError(
            f"{program} has an identity token for {name}, which is not supported: use a password or token"
        )
    return Credentials(user=answer.username, password=answer.secret)

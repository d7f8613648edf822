"""User name and password for a registry, as logins leave them: in a file, or with a helper program.

The files are, in this order: `$REGISTRY_AUTH_FILE`, `$DOCKER_CONFIG/config.json` or `~/.docker/config.json`, and where
podman, buildah and skopeo log in to: `$XDG_RUNTIME_DIR/containers/auth.json`, `~/.config/containers/auth.json`. The
first that has a login is taken; it may be for a part of a registry. Nothing that is found here is ever part of a
message.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from rukpak_py.core.errors import AccessError
from rukpak_py.sources.image.credentials import ConfiguredCredentials, RegistryCredentials, login
from rukpak_py.sources.image.reference import ImageReference

_DOCKER_HUB: Final = "https://index.docker.io/v1/"  # what docker calls docker.io
_HELPER_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
_HELPER_SECONDS: Final = 60


class _Config(msgspec.Struct, rename="camel"):
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
        config = msgspec.json.decode(file.read_bytes(), type=_Config)
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
    yield from [_DOCKER_HUB, "index.docker.io"] if reference.registry == "docker.io" else []
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

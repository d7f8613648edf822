"""Images built by an external tool: called as opm calls it, in the working directory, without a shell."""

import signal
import subprocess
from collections.abc import Sequence

from rukpak_py.cli.packaging.plan import DOCKERFILE
from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.go_text import quoted

_ARGUMENTS = {"docker": ("build",), "podman": ("build",), "buildah": ("bud", "--format=docker")}
NAMES = tuple(_ARGUMENTS)


def is_supported(tool: str) -> bool:
    return tool in _ARGUMENTS


def argv(tool: str, tag: str) -> list[str]:
    return [tool, *_ARGUMENTS[tool], "-f", DOCKERFILE, "-t", tag, "."]


def execute(command: Sequence[str]) -> None:
    """Its output is the user's; a failure is told in opm's words."""
    try:
        status = subprocess.run(command, check=False).returncode  # noqa: S603 - no shell; the tool is one of three
    except FileNotFoundError as error:
        raise _failed(command, f"exec: {quoted(command[0])}: executable file not found in $PATH") from error
    except OSError as error:
        raise _failed(command, f"fork/exec {command[0]}: {error.strerror}") from error
    if status < 0:
        raise _failed(command, f"signal: {(signal.strsignal(-status) or str(-status)).lower()}")
    if status:
        raise _failed(command, f"exit status {status}")


def _failed(command: Sequence[str], reason: str) -> UnavailableError:
    words = ", ".join(map(quoted, command))
    return UnavailableError(f"Failed to exec []string{{{words}}}: {reason}")

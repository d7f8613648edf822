"""The real sshd as a process of this machine, with a configuration, a host key and a user's key of its own.

Only root may start one that lets anybody log in, and root is whom it lets in.
"""

from __future__ import annotations

import os
import socket
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from e2e.cluster.ports import free_ports
from e2e.servers.tied import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

SSHD = Path("/usr/sbin/sshd")
PRIVILEGES = Path("/run/sshd")  # the folder that it wants, whatever its configuration
USER = "root"
CONFIGURATION = """
ListenAddress {host}:{port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
LogLevel VERBOSE
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
PubkeyAuthentication yes
X11Forwarding no
PrintMotd no
"""


@dataclass(frozen=True, kw_only=True)
class SshServer:
    host: str
    port: int
    private_key: Path


def is_possible() -> bool:
    return SSHD.exists() and os.geteuid() == 0


@contextmanager
def running(folder: Path, *, host: str) -> Iterator[SshServer]:
    folder.mkdir(parents=True, exist_ok=True)
    PRIVILEGES.mkdir(mode=0o755, exist_ok=True)
    for name in ("host_key", "user_key"):
        generate = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)]
        subprocess.run(generate, check=True, stdin=subprocess.DEVNULL)
    port = free_ports(["sshd"], host)["sshd"]
    configuration, log = folder / "sshd_config", folder / "sshd.log"
    configuration.write_text(CONFIGURATION.format(host=host, port=port, folder=folder), encoding="utf-8")
    command = [str(SSHD), "-D", "-e", "-f", str(configuration)]
    with serving(command, log=log, answers=lambda: _answers(host, port)):
        yield SshServer(host=host, port=port, private_key=folder / "user_key")


def _answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True

"""The real sshd as a process of this machine, with a configuration, a host key and a user's key of its own.

Only root may start one that lets anybody log in, and root is whom it lets in.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from e2e.cluster.ports import free_ports
from e2e.servers.tied import tied_to_caller

if TYPE_CHECKING:
    from collections.abc import Iterator

SSHD = Path("/usr/sbin/sshd")
PRIVILEGES = Path("/run/sshd")  # the folder that it wants, whatever its configuration
USER = "root"
PATIENCE_SECONDS = 10.0
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
    with (
        log.open("wb") as output,
        subprocess.Popen(
            tied_to_caller([str(SSHD), "-D", "-e", "-f", str(configuration)]), stderr=output, start_new_session=True
        ) as process,
    ):
        try:
            _wait(host, port, process, log)
            yield SshServer(host=host, port=port, private_key=folder / "user_key")
        finally:
            process.kill()


def _wait(host: str, port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection((host, port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"sshd does not answer: {log.read_text(encoding='utf-8', errors='replace')}")

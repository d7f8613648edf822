"""The real sshd on a loopback address, as tests of git see it; needs root."""

import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.servers import ssh

HOST = "127.0.0.1"


@dataclass(kw_only=True)
class GitSshServer:
    folder: Path
    port: int

    @property
    def private_key(self) -> bytes:
        return (self.folder / "user_key").read_bytes()

    @property
    def host_key(self) -> str:
        """As in known hosts: type and key."""
        return " ".join((self.folder / "host_key.pub").read_text().split()[:2])

    @property
    def log(self) -> str:
        return (self.folder / "sshd.log").read_text(errors="replace")

    def url(self, repository: Path, *, user: str = ssh.USER, host: str = "localhost") -> str:
        return f"ssh://{user}{'@' if user else ''}{host}:{self.port}{repository}"

    def known_hosts(self, host: str = "localhost") -> str:
        return f"[{host}]:{self.port} {self.host_key}\n"


def new_key(path: Path, *, passphrase: str = "", kind: str = "ed25519") -> None:
    subprocess.run(
        ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "test", "-f", str(path)], check=True, timeout=30
    )


def hashed(known_hosts: str, folder: Path) -> str:
    """As `HashKnownHosts yes` writes them."""
    path = folder / "to-hash"
    path.write_text(known_hosts)
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(path)], check=True, capture_output=True)
    return path.read_text()


@asynccontextmanager
async def git_ssh_server(folder: Path) -> AsyncIterator[GitSshServer]:
    if os.geteuid() != 0:
        pytest.skip("sshd lets users log in only when it is started by root")
    if not ssh.is_possible():
        pytest.skip(f"{ssh.SSHD} is missing: install openssh-server")
    with ssh.running(folder, host=HOST) as server:
        yield GitSshServer(folder=folder, port=server.port)

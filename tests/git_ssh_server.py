"""The real sshd on a loopback address, with configuration, host key and users' keys of its own; needs root."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.cluster.ports import free_ports

SSHD = Path("/usr/sbin/sshd")
HOST = "127.0.0.1"
USER = "root"  # whom every machine has
START_SECONDS = 10
CONFIGURATION = """
ListenAddress {host}:{port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
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

    def url(self, repository: Path, *, user: str = USER, host: str = "localhost") -> str:
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


def _prepared(folder: Path) -> GitSshServer:
    if os.geteuid() != 0:
        pytest.skip("sshd lets users log in only when it is started by root")
    if not SSHD.exists():
        pytest.skip(f"{SSHD} is missing: install openssh-server")
    folder.mkdir()
    new_key(folder / "host_key")
    new_key(folder / "user_key")
    (folder / "authorized_keys").write_bytes((folder / "user_key.pub").read_bytes())
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd's, for processes without rights
    server = GitSshServer(folder=folder, port=free_ports(["ssh"], HOST)["ssh"])
    (folder / "config").write_text(CONFIGURATION.format(host=HOST, port=server.port, folder=folder))
    return server


@asynccontextmanager
async def git_ssh_server(folder: Path) -> AsyncIterator[GitSshServer]:
    server = _prepared(folder)
    process = await asyncio.create_subprocess_exec(
        *(str(SSHD), "-D", "-f", str(folder / "config"), "-E", str(folder / "sshd.log"))
    )
    try:
        await _until_listening(server.port)
        yield server
    finally:
        process.terminate()
        await process.wait()


async def _until_listening(port: int) -> None:
    async with asyncio.timeout(START_SECONDS):
        while True:
            try:
                _, writer = await asyncio.open_connection(HOST, port)
            except ConnectionRefusedError:
                await asyncio.sleep(0.02)
                continue
            writer.close()
            return

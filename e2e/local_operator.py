"""The operator as a process of this machine, outside the cluster that it works on.

The API server reaches its webhook by URL, under the address that this machine has for the cluster.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING

from e2e.cluster import lifecycle
from e2e.cluster.ports import free_ports
from e2e.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

STOP_SECONDS = 30
READY_SECONDS = 60


class OperatorError(Exception):
    """The operator ended or did not become ready; the text has the end of its log."""


@dataclass(frozen=True, kw_only=True)
class LocalOperator:
    pid: int
    log: Path
    metrics: str  # URL
    content: str  # URL


def log_in(folder: Path) -> Path:
    return folder / "operator.log"


@contextlib.contextmanager
def running(
    *, kubeconfig: Path, folder: Path, source_addresses: str = "", flags: Sequence[str] = ()
) -> Iterator[LocalOperator]:
    """Ready from the first statement of the block on. `source_addresses`: what sources may reach beside the usual."""
    log = log_in(folder)
    address = lifecycle.host_address(kubeconfig.parent)
    ports = free_ports(["probes", "metrics", "content"], "127.0.0.1") | free_ports(["webhook"], address)
    command = [
        *_ending_with_us(),
        *(sys.executable, "-m", "rukpak_py"),
        f"--kubeconfig={kubeconfig}",
        f"--provisioner-storage-dir={folder / 'bundles'}",
        f"--upload-storage-dir={folder / 'uploads'}",
        f"--http-bind-address=127.0.0.1:{ports['content']}",
        f"--health-probe-bind-address=127.0.0.1:{ports['probes']}",
        f"--metrics-bind-address=127.0.0.1:{ports['metrics']}",
        f"--webhook-bind-address={address}:{ports['webhook']}",
        f"--webhook-url=https://{address}:{ports['webhook']}",
        f"--allow-source-addresses={source_addresses}",
        "--log-format=text",
        *flags,
    ]
    with log.open("wb") as output:
        # A session of its own: Ctrl-C is for us, and we stop it in our own order.
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        eventually(lambda: _is_ready(process, ports["probes"], log), what="operator ready", seconds=READY_SECONDS)
        yield LocalOperator(
            pid=process.pid,
            log=log,
            metrics=f"http://127.0.0.1:{ports['metrics']}/metrics",
            content=f"https://localhost:{ports['content']}",
        )
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _ending_with_us() -> list[str]:
    """Also when we are killed: on Linux, where the kernel can see to it."""
    program = shutil.which("setpriv")
    return [program, "--pdeathsig", "TERM"] if program else []


def _is_ready(process: subprocess.Popen[bytes], port: int, log: Path) -> bool:
    if process.poll() is not None:
        end = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
        raise OperatorError(f"the operator ended with exit code {process.returncode}; the end of its log:\n{end}")
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def follow(log: Path) -> None:
    """Print the log from its beginning, until interrupted."""
    with contextlib.suppress(KeyboardInterrupt):
        subprocess.run(["tail", "-n", "+1", "-f", str(log)], check=False, env=os.environ)

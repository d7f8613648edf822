"""Free TCP ports that stay free while a component restarts.

Ports come from below the range that the kernel hands to outgoing connections. Inside it, a client that
knocks at a stopped API server can be given that very port as its own and take it (or connect to itself).
A port that was given away is reserved for a minute, in which its owner begins to listen: several workers start
hundreds of operators in one run of the suite.
"""

import json
import random
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from e2e.cluster import binaries
from e2e.cluster.files import locked, write_private

GIVEN_SECONDS = 60.0
LOWEST = 20_000
DEFAULT_EPHEMERAL = 32_768
ATTEMPTS = 200


def free_ports(names: Sequence[str], address: str = "127.0.0.1") -> dict[str, int]:
    with _given_away() as given:
        return {name: _free_port(address, given) for name in names}


def _free_port(address: str, given: dict[str, float]) -> int:
    choices = random.SystemRandom()
    highest = _ephemeral_start() - 1
    for _ in range(ATTEMPTS):
        port = choices.randint(LOWEST, highest)
        if str(port) not in given and _can_bind(address, port):
            given[str(port)] = time.time()
            return port
    raise OSError(f"no free port on {address} between {LOWEST} and {highest}")


def _can_bind(address: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as candidate:
        try:
            candidate.bind((address, port))
        except OSError:
            return False
    return True


@contextmanager
def _given_away() -> Iterator[dict[str, float]]:
    """Times at which ports were given to processes of this user; additions are kept."""
    record = binaries.cache() / "ports.json"
    with locked(record.with_suffix(".lock")):
        now = time.time()
        entries: dict[str, float] = json.loads(record.read_text()) if record.exists() else {}
        given = {port: since for port, since in entries.items() if now - GIVEN_SECONDS < since <= now}
        yield given
        write_private(record, json.dumps(given))


def _ephemeral_start() -> int:
    try:
        start = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except OSError:
        return DEFAULT_EPHEMERAL
    return start if start > LOWEST + ATTEMPTS else DEFAULT_EPHEMERAL

"""Free TCP ports that stay free while a component restarts.

Ports come from below the range that the kernel hands to outgoing connections. Inside it, a client that
knocks at a stopped API server can be given that very port as its own and take it (or connect to itself).
"""

import random
import socket
from collections.abc import Sequence
from pathlib import Path

LOWEST = 20_000
DEFAULT_EPHEMERAL = 32_768
ATTEMPTS = 200


def free_ports(names: Sequence[str], address: str = "127.0.0.1") -> dict[str, int]:
    held: dict[str, socket.socket] = {}
    try:
        for name in names:
            held[name] = _bind_any(address)
        return {name: bound.getsockname()[1] for name, bound in held.items()}
    finally:
        for bound in held.values():
            bound.close()


def _bind_any(address: str) -> socket.socket:
    choices = random.SystemRandom()
    highest = _ephemeral_start() - 1
    for _ in range(ATTEMPTS):
        candidate = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            candidate.bind((address, choices.randint(LOWEST, highest)))
        except OSError:
            candidate.close()
        else:
            return candidate
    raise OSError(f"no free port on {address} between {LOWEST} and {highest}")


def _ephemeral_start() -> int:
    try:
        start = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except OSError:
        return DEFAULT_EPHEMERAL
    return start if start > LOWEST + ATTEMPTS else DEFAULT_EPHEMERAL

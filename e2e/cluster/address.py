"""The address under which a cluster reaches this machine, for webhooks of an operator that runs beside it."""

import os
import socket
import subprocess
from pathlib import Path

from e2e.cluster import binaries

CHOICE = "RUKPAK_HOST_ADDRESS"
LOOPBACK = "127.0.0.1"
ANSWER_SECONDS = 20.0
NODES = "--output=jsonpath={.items[*].status.addresses[?(@.type=='InternalIP')].address}"


def facing(kubeconfig: Path) -> str:
    """The one from which packets to the cluster's first node are sent; RUKPAK_HOST_ADDRESS decides otherwise."""
    if chosen := os.environ.get(CHOICE):
        return chosen
    command = [str(binaries.path("kubectl")), f"--kubeconfig={kubeconfig}", "get", "nodes", NODES]
    try:
        listed = subprocess.run(command, check=False, capture_output=True, text=True, timeout=ANSWER_SECONDS)
    except subprocess.TimeoutExpired:
        return LOOPBACK
    addresses = [address for address in listed.stdout.split() if ":" not in address]
    return _towards(addresses[0]) if addresses else LOOPBACK


def _towards(address: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, 9))  # sends nothing
        except OSError:
            return LOOPBACK
        return str(probe.getsockname()[0])

"""This machine: user, environment and network namespace."""

import os
import platform
from pathlib import Path

RUN = Path("/run")
NAMESPACE = Path("/proc/self/ns/net")
PROXIES = ("http_proxy", "https_proxy", "all_proxy")


def is_root_on_linux() -> bool:
    return platform.system() == "Linux" and os.geteuid() == 0


def environment_without_proxies() -> dict[str, str]:
    """Nothing of a local cluster goes through a proxy."""
    return {name: value for name, value in os.environ.items() if name.lower() not in PROXIES}


def network_namespace() -> str:
    """A name for the one that this process is in; empty where there are none."""
    try:
        return "".join(filter(str.isdigit, NAMESPACE.readlink().name))
    except OSError:
        return ""

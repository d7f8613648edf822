"""The programs of the machine that a node needs; installed by apt where there is one, and never twice."""

import os
import platform
import shutil
import subprocess
from pathlib import Path

from e2e.cluster.errors import ClusterError

PROGRAMS = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "iptables-restore": "iptables",
    "ip": "iproute2",
    "mount": "mount",
}
CNI_FOLDERS = (Path("/usr/lib/cni"), Path("/opt/cni/bin"), Path("/usr/libexec/cni"))
CNI_PLUGINS = ("bridge", "host-local", "loopback")
CNI_PACKAGE = "containernetworking-plugins"
SYSTEM_FOLDERS = ("/usr/sbin", "/sbin")


def require_node_support() -> None:
    """Install what is missing; say clearly when this machine cannot have a node."""
    if platform.system() != "Linux" or os.geteuid() != 0:
        raise ClusterError("a node needs root on Linux; without --node a cluster needs neither")
    search = os.environ.get("PATH", "").split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join([*search, *(folder for folder in SYSTEM_FOLDERS if folder not in search)])
    missing = missing_packages()
    if not missing:
        return
    if not shutil.which("apt-get"):
        raise ClusterError(f"a node needs these Debian packages, or what they are called here: {' '.join(missing)}")
    print(f"installing {' '.join(missing)} ...", flush=True)
    if not _install(missing):
        _apt("update")
        if not _install(missing):
            raise ClusterError(f"apt-get install {' '.join(missing)} failed: run it by hand to see why")
    if still := missing_packages():
        raise ClusterError(f"still missing after apt-get install: {' '.join(still)}")


def missing_packages() -> list[str]:
    missing = {package for program, package in PROGRAMS.items() if not shutil.which(program)}
    if cni_folder() is None:
        missing.add(CNI_PACKAGE)
    return sorted(missing)


def cni_folder() -> Path | None:
    return next((folder for folder in CNI_FOLDERS if all((folder / name).exists() for name in CNI_PLUGINS)), None)


def _install(packages: list[str]) -> bool:
    return _apt("install", "--yes", "--no-install-recommends", *packages)


def _apt(*arguments: str) -> bool:
    # RUNLEVEL=1: a package's service is not started; ours runs apart from any of the machine's own.
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    done = subprocess.run(
        ["apt-get", "-qq", *arguments],
        env=environment,
        check=False,
        stdout=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    return done.returncode == 0

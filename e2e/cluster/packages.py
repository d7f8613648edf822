"""Programs of the machine: found on PATH, else installed by apt as root, else named in an error.

`python -m e2e.cluster.packages PROGRAM=PACKAGE...` for scripts.
"""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from e2e.cluster import machine
from e2e.cluster.errors import ClusterError
from e2e.cluster.files import locked

SERVICES = ("docker.service", "docker.socket", "containerd.service", "ssh.service", "ssh.socket")
SYSTEM_FOLDERS = ("/usr/sbin", "/sbin")  # not on every PATH, and half of what a node needs lies there


def require(programs: Mapping[str, str], *, purpose: str) -> None:
    """Each program (a key) is on PATH afterwards; the value is the Debian package that brings it."""
    install(missing(programs), purpose=purpose)
    if still := [program for program in programs if not shutil.which(program)]:
        raise ClusterError(f"still missing after apt-get install, for {purpose}: {' '.join(sorted(still))}")


def missing(programs: Mapping[str, str]) -> set[str]:
    """The packages of those programs that are not on PATH."""
    search_system_folders()
    return {package for program, package in programs.items() if not shutil.which(program)}


def search_system_folders() -> None:
    search = os.environ.get("PATH", "").split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join([*search, *(folder for folder in SYSTEM_FOLDERS if folder not in search)])


def install(packages: Collection[str], *, purpose: str) -> None:
    if not packages:
        return
    names = sorted(packages)
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise ClusterError(f"{purpose} needs these Debian packages, or what they are called here: {' '.join(names)}")
    print(f"installing {' '.join(names)}, for {purpose} ...", flush=True)
    command = ["install", "--yes", "--no-install-recommends", *names]
    with locked(machine.RUN / "lock/rukpak-packages"), _no_services():
        if not _apt(*command):
            _apt("update")
            if not _apt(*command):
                raise ClusterError(f"apt-get install {' '.join(names)} failed: run it by hand to see why")


@contextlib.contextmanager
def _no_services() -> Iterator[None]:
    """Packages start their services where systemd runs; ours run apart from any of the machine's own."""
    if not Path("/run/systemd/system").is_dir():
        yield
        return
    subprocess.run(["systemctl", "mask", "--runtime", *SERVICES], check=False, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["systemctl", "unmask", "--runtime", *SERVICES], check=False, capture_output=True)


def _apt(*arguments: str) -> bool:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}  # no services without systemd
    done = subprocess.run(
        ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300", *arguments],
        env=environment,
        check=False,
        stdout=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    return done.returncode == 0


def main() -> int:
    try:
        require(dict(word.split("=", 1) for word in sys.argv[1:]), purpose="tests")
    except ClusterError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

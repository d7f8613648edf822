"""Programs of the host that an image needs: found, installed where apt and root allow it, else named."""

from __future__ import annotations

import os
import shutil
import subprocess


class MissingToolsError(Exception):
    """Programs are not there and cannot be installed here; the text says what to do."""


def need(packages: dict[str, str], *, purpose: str) -> None:
    """Each program (a key) is on PATH afterwards; the value is the Debian package that brings it."""
    missing = {program: package for program, package in packages.items() if shutil.which(program) is None}
    if not missing:
        return
    names = " ".join(sorted(set(missing.values())))
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        text = f"{purpose} needs {', '.join(sorted(missing))}; on Debian and Ubuntu: apt-get install {names}"
        raise MissingToolsError(text)
    print(f"installing {names}, for {purpose}", flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], check=True, env=environment)
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *names.split()]
    subprocess.run(install, check=True, env=environment, stdout=subprocess.DEVNULL)

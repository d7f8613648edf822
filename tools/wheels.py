"""The wheels for the image: the locked dependencies, for the Python of the base image, and our own."""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# pip does not take "any glibc up to 2.36": each tag that wheels carry is named.
GLIBC_TAGS = ("manylinux_2_34", "manylinux_2_28", "manylinux_2_17", "manylinux2014")
MACHINES = {"AMD64": "x86_64", "arm64": "aarch64"}


def collect(root: Path, cache: Path, target: Path, *, python_version: str) -> None:
    """Fill `target` with exactly the wheels of the image."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(_dependencies(root / "requirements/runtime.txt", cache, python_version), target)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target), str(root)]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)


def _dependencies(requirements: Path, cache: Path, python_version: str) -> Path:
    """Downloaded once for each lock, machine and Python version; a folder that is there is complete."""
    machine = MACHINES.get(platform.machine(), platform.machine())
    lock = hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]
    folder = cache / "wheels" / f"{lock}-{machine}-{python_version}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=folder.parent))
    tags = [f"--platform={tag}_{machine}" for tag in GLIBC_TAGS]
    wanted = ["--only-binary=:all:", "--implementation=cp", f"--python-version={python_version}", *tags]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run(
        [*pip, "--require-hashes", *wanted, f"--requirement={requirements}", f"--dest={partial}"], check=True
    )
    partial.chmod(0o755)
    partial.rename(folder)
    return folder

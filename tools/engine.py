"""The builder of images: a Docker engine when one answers, else buildah as root, without any daemon.

Buildah works with a store of its own below the cache directory (driver vfs, isolation chroot: neither needs kernel
features beyond root), so that it finds its base image again and leaves nothing in the host's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from e2e.cluster import packages
from e2e.cluster.errors import ClusterError
from e2e.cluster.machine import is_root_on_linux


class Engine(Protocol):
    def has(self, image: str) -> bool: ...

    def import_rootfs(self, archive: Path, image: str) -> None: ...

    def build(self, image: str, context: Path, arguments: dict[str, str], labels: dict[str, str]) -> None: ...

    def save(self, image: str, archive: Path) -> None:
        """Write a docker-archive."""
        ...

    def python_version(self, image: str) -> str:
        """The version of the image's python3, as 3.11."""
        ...


PYTHON_VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"


@dataclass(frozen=True, kw_only=True)
class Docker:
    def has(self, image: str) -> bool:
        return subprocess.run(["docker", "image", "inspect", image], capture_output=True, check=False).returncode == 0

    def import_rootfs(self, archive: Path, image: str) -> None:
        subprocess.run(["docker", "import", str(archive), image], check=True, stdout=subprocess.DEVNULL)

    def build(self, image: str, context: Path, arguments: dict[str, str], labels: dict[str, str]) -> None:
        command = ["docker", "build", "--quiet", *_flags(arguments, labels), "--tag", image, str(context)]
        subprocess.run(command, check=True, env=_with_buildkit())

    def save(self, image: str, archive: Path) -> None:
        subprocess.run(["docker", "save", "--output", str(archive), image], check=True)

    def python_version(self, image: str) -> str:
        return _output(["docker", "run", "--rm", "--entrypoint", "python3", image, "-c", PYTHON_VERSION])


@dataclass(frozen=True, kw_only=True)
class Buildah:
    store: Path

    def has(self, image: str) -> bool:
        inspected = subprocess.run(self._buildah("inspect", "--type=image", image), capture_output=True, check=False)
        return inspected.returncode == 0

    def import_rootfs(self, archive: Path, image: str) -> None:
        with tempfile.TemporaryDirectory(dir=archive.parent) as context:
            # ADD unpacks a local archive; a link spares a copy of 200 MB.
            os.link(archive, Path(context, "rootfs.tar"))
            Path(context, "Dockerfile").write_text("FROM scratch\nADD rootfs.tar /\n", encoding="utf-8")
            self.build(image, Path(context), {}, {})

    def build(self, image: str, context: Path, arguments: dict[str, str], labels: dict[str, str]) -> None:
        flags = ["--isolation=chroot", "--quiet", "--layers=false", *_flags(arguments, labels), "--tag", image]
        subprocess.run(self._buildah("bud", *flags, str(context)), check=True, stdout=subprocess.DEVNULL)

    def save(self, image: str, archive: Path) -> None:
        archive.unlink(missing_ok=True)  # buildah does not overwrite one
        subprocess.run(self._buildah("push", "--quiet", image, f"docker-archive:{archive}:{image}"), check=True)
        # Every vfs image is a whole file system; the archive is what stays.
        subprocess.run(self._buildah("rmi", "--force", image), check=True, stdout=subprocess.DEVNULL)

    def python_version(self, image: str) -> str:
        container = _output(self._buildah("from", image))
        try:
            run = self._buildah("run", "--isolation=chroot", container, "python3", "-c", PYTHON_VERSION)
            return _output(run)
        finally:
            subprocess.run(self._buildah("rm", container), check=True, stdout=subprocess.DEVNULL)

    def _buildah(self, *arguments: str) -> list[str]:
        places = [f"--root={self.store / 'storage'}", f"--runroot={self.store / 'run'}"]
        return ["buildah", "--storage-driver=vfs", *places, *arguments]


def find(cache: Path) -> Engine:
    if shutil.which("docker") and _succeeds(["docker", "info"]):
        if _succeeds(["docker", "build", "--help"]):
            return Docker()
        print("docker cannot build here (its component buildx is missing): building with buildah", flush=True)
    if not is_root_on_linux():
        raise ClusterError("building an image needs a Docker engine that answers, or root on Linux for buildah")
    packages.require({"buildah": "buildah"}, purpose="building an image without a Docker engine")
    return Buildah(store=cache / "containers")


def _with_buildkit() -> dict[str, str]:
    """Before Docker 23 the builder that knows `RUN --mount` has to be asked for; since then it is a component apart."""
    return {**os.environ, "DOCKER_BUILDKIT": "1"}


def _succeeds(command: list[str]) -> bool:
    return subprocess.run(command, env=_with_buildkit(), capture_output=True, check=False).returncode == 0


def _flags(arguments: dict[str, str], labels: dict[str, str]) -> list[str]:
    given = [f"--build-arg={name}={value}" for name, value in arguments.items()]
    return given + [f"--label={name}={value}" for name, value in labels.items()]


def _output(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

"""The image of kind's node: the one that kind-config.yaml names, else ours.

Ours is kept as an archive in the cache, under a key of everything that decides what comes out: the programs, kind's own
files, this folder's sources. Archives that were not used for a week go.
"""

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster import binaries
from e2e.cluster.errors import ClusterError
from e2e.cluster.files import locked
from e2e.cluster.image_archive import ImageConfiguration, write_image_of
from e2e.cluster.kind import node_root
from e2e.cluster.kind.engine import ContainerEngine, UnusableError
from e2e.cluster.machine import is_root_on_linux
from e2e.cluster.steps import step

HERE = Path(__file__).parent
CONFIGURATION = Path(__file__).parents[3] / "kind-config.yaml"
REPOSITORY = "localhost/rukpak-py/kind-node"
UNUSED_SECONDS = 7 * 24 * 3600
BUILDING = "building-"
# As in images/base/Dockerfile of kind: systemd looks for the variable, and ends on that signal only.
IMAGE = ImageConfiguration(
    entrypoint=("/usr/local/bin/entrypoint", "/sbin/init"),
    environment=("container=docker",),
    more={"StopSignal": "SIGRTMIN+3"},
)


class NotPulledError(UnusableError):
    """The image is not here and did not come; ours may be built instead."""


@dataclass(frozen=True, kw_only=True)
class OurImage:
    archive: Path
    name: str

    def load(self, engine: ContainerEngine) -> None:
        if engine.has(self.name):
            return
        with step("loading kind's node image"):
            if reason := engine.load(self.archive):
                raise ClusterError(f"{engine.program} does not load {self.archive}: {reason}")


def wanted() -> str:
    found = re.search(r"^\s*image:\s*(\S+)", CONFIGURATION.read_text(), re.MULTILINE)
    if found is None:
        raise ClusterError(f"{CONFIGURATION} names no image")
    return found[1]


def pulled(engine: ContainerEngine, *, seconds: float) -> str:
    """The image that the configuration names, here already or pulled now."""
    image = wanted()
    whole = f"docker.io/{image}"  # podman knows no default registry
    if not engine.has(whole):
        print(f"pulling {image} for kind ...", flush=True)
        if reason := engine.pull(whole, seconds=seconds):
            raise NotPulledError(f"{image} is not here and could not be pulled: {reason}")
    return image


@contextlib.contextmanager
def ours() -> Iterator[OurImage]:
    """Our own image, built when it is not in the cache. Inside the block no other process removes it."""
    if not is_root_on_linux():
        raise UnusableError("building a node image needs root on Linux")
    binaries.ensure(node_root.PROGRAMS)
    folder = binaries.cache().parent / "kind-node"
    with locked(folder / "lock"):
        target = folder / f"{_key()}.tar"
        _tidy(folder, keep=target)
        if not target.exists():
            _build(target)
        os.utime(target)
        yield OurImage(archive=target, name=_name(target))


def is_ours(image: str) -> bool:
    return image.startswith(f"{REPOSITORY}:")


def _tidy(folder: Path, *, keep: Path) -> None:
    for unfinished in folder.glob(f"{BUILDING}*"):  # of a process that was killed: we hold the lock
        shutil.rmtree(unfinished)
    for archive in set(folder.glob("*.tar")) - {keep}:
        if archive.stat().st_mtime < time.time() - UNUSED_SECONDS:
            archive.unlink()


def _build(target: Path) -> None:
    # Not where other users could put something in its way; the cache has the space that /tmp may not have.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=BUILDING) as name:
        work = Path(name)
        base_files = node_root.kind_files()
        with step("building kind's node image: Debian"):
            node_root.bootstrap(work / "root")
        with step("building kind's node image: kind's files and Kubernetes"):
            node_root.furnish(work / "root", base_files)
        with step("building kind's node image: archive"):
            layer = node_root.pack(work / "root", work / "layer.tar")
            write_image_of(layer, work / "image.tar", name=_name(target), configuration=IMAGE)
        (work / "image.tar").rename(target)


def _name(archive: Path) -> str:
    return f"{REPOSITORY}:{archive.stem}"


def _key() -> str:
    key = hashlib.sha256()
    for name in node_root.PROGRAMS:
        key.update(f"{name} {binaries.location(name).parent.name}\n".encode())
    sources = [*HERE.glob("node_*.py"), HERE.parent / "debian.py", HERE.parent / "image_archive.py"]
    for file in sorted(sources):
        key.update(f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return key.hexdigest()[:16]

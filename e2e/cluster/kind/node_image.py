"""The image of kind's node: the one that kind-config.yaml names, else ours.

Ours is kept as an archive in the cache, under a key of everything that decides what comes out: the programs, kind's own
files, this folder's sources.
"""

import hashlib
import re
import tempfile
from pathlib import Path

from e2e.cluster import binaries
from e2e.cluster.errors import ClusterError
from e2e.cluster.files import locked
from e2e.cluster.image_archive import ImageConfiguration, write_image_of
from e2e.cluster.kind import node_root
from e2e.cluster.kind.engine import Engine, UnusableError
from e2e.cluster.machine import is_root_on_linux
from e2e.cluster.steps import step

HERE = Path(__file__).parent
CONFIGURATION = Path(__file__).parents[3] / "kind-config.yaml"
REPOSITORY = "localhost/rukpak-py/kind-node"
# As in images/base/Dockerfile of kind: systemd looks for the variable, and ends on that signal only.
IMAGE = ImageConfiguration(
    entrypoint=("/usr/local/bin/entrypoint", "/sbin/init"),
    environment=("container=docker",),
    more={"StopSignal": "SIGRTMIN+3"},
)


def wanted() -> str:
    found = re.search(r"^\s*image:\s*(\S+)", CONFIGURATION.read_text(), re.MULTILINE)
    if found is None:
        raise ClusterError(f"{CONFIGURATION} names no image")
    return found[1]


def pulled(engine: Engine) -> str:
    """The image that the configuration names, here already or pulled now."""
    image = wanted()
    whole = f"docker.io/{image}"  # podman knows no default registry
    if not engine.has(whole):
        print(f"pulling {image} for kind ...", flush=True)
        if reason := engine.pull(whole):
            raise UnusableError(f"{image} is not here and could not be pulled: {reason}")
    return image


def ours(engine: Engine) -> str:
    """Our own, loaded into the engine."""
    archive = _archive()
    image = f"{REPOSITORY}:{archive.stem}"
    if not engine.has(image):
        with step("loading kind's node image"):
            if reason := engine.load(archive):
                raise ClusterError(f"{engine.program} does not load {archive}: {reason}")
    return image


def is_ours(image: str) -> bool:
    return image.startswith(f"{REPOSITORY}:")


def _archive() -> Path:
    if not is_root_on_linux():
        raise ClusterError(f"{wanted()} cannot be had, and to build a node image needs root on Linux")
    binaries.ensure(node_root.PROGRAMS)
    folder = binaries.cache().parent / "kind-node"
    target = folder / f"{_key()}.tar"
    with locked(folder / "lock"):
        if not target.exists():
            _build(target)
            for older in set(folder.glob("*.tar")) - {target}:
                older.unlink()
    return target


def _build(target: Path) -> None:
    # Not where other users could put something in its way; the cache has the space that /tmp may not have.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="building-") as name:
        work = Path(name)
        with step("building kind's node image: Debian"):
            node_root.bootstrap(work / "root")
        with step("building kind's node image: kind's files and Kubernetes"):
            node_root.furnish(work / "root")
        with step("building kind's node image: archive"):
            layer = node_root.pack(work / "root", work / "layer.tar")
            image = f"{REPOSITORY}:{target.stem}"
            write_image_of(layer, work / "image.tar", name=image, configuration=IMAGE)
        (work / "image.tar").rename(target)


def _key() -> str:
    key = hashlib.sha256()
    for name in node_root.PROGRAMS:
        key.update(f"{name} {binaries.location(name).parent.name}\n".encode())
    sources = [
        *HERE.glob("node_*.py"),
        *HERE.glob("*.mod"),
        *(HERE.parent / name for name in ("debian.py", "image_archive.py")),
    ]
    for file in sorted(sources):
        key.update(f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return key.hexdigest()[:16]

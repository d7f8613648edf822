"""A cluster of kind, when kind is usable here."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from e2e.cluster.errors import ClusterError
from e2e.cluster.files import write_private
from e2e.cluster.node.layout import Layout
from e2e.cluster.state import StateDir

CONFIGURATION = Path(__file__).parents[2] / "kind-config.yaml"
ENGINES = ("docker", "podman", "nerdctl")
ANSWER_SECONDS = 15.0
PULL_SECONDS = 60.0
CREATE_SECONDS = 300.0


class UnusableError(Exception):
    """Why kind cannot be used; not an error of the cluster."""


def usable_engine() -> str:
    """Give the container engine to use kind with, its node image at hand."""
    if not shutil.which("kind"):
        raise UnusableError("kind is not on PATH")
    engine = next((name for name in ENGINES if shutil.which(name) and _works([name, "info"], ANSWER_SECONDS)), None)
    if engine is None:
        raise UnusableError(f"no container engine answers ({', '.join(ENGINES)})")
    image = node_image()
    if not _works([engine, "image", "inspect", image], ANSWER_SECONDS):
        print(f"pulling {image} for kind ...", flush=True)
        if not _works([engine, "pull", image], PULL_SECONDS):
            raise UnusableError(f"{image} is not here and was not pulled within {PULL_SECONDS:.0f} s")
    return engine


def node_image() -> str:
    found = re.search(r"^\s*image:\s*(\S+)", CONFIGURATION.read_text(), re.MULTILINE)
    if found is None:
        raise ClusterError(f"{CONFIGURATION} names no image")
    return found[1]


def create(state: StateDir, engine: str) -> None:
    unfinished = state.path / "pki" / "kind.kubeconfig"
    arguments = ["--config", str(CONFIGURATION), "--kubeconfig", str(unfinished), "--wait", "120s"]
    done = _kind(state, engine, ["create", "cluster", *arguments], CREATE_SECONDS)
    if done.returncode != 0:
        delete(state, engine)
        raise UnusableError(f"kind could not create a cluster: {done.stderr.strip()[-500:]}")
    write_private(state.kubeconfig, unfinished.read_bytes())


def delete(state: StateDir, engine: str) -> None:
    done = _kind(state, engine, ["delete", "cluster"], CREATE_SECONDS)
    if done.returncode != 0:
        raise ClusterError(f"kind could not delete its cluster: {done.stderr.strip()[-500:]}")


def load_image(state: StateDir, engine: str, archive: Path) -> None:
    done = _kind(state, engine, ["load", "image-archive", str(archive)], CREATE_SECONDS)
    if done.returncode != 0:
        raise ClusterError(f"kind could not load {archive}: {done.stderr.strip()[-500:]}")


def _kind(state: StateDir, engine: str, arguments: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
    name = f"rukpak-{Layout(state).identity}"
    environment = {**os.environ, "KIND_EXPERIMENTAL_PROVIDER": engine}
    command = ["kind", *arguments, "--name", name]
    return subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=seconds)


def _works(command: Sequence[str], seconds: float) -> bool:
    try:
        return subprocess.run(command, check=False, capture_output=True, timeout=seconds).returncode == 0
    except subprocess.TimeoutExpired:
        return False

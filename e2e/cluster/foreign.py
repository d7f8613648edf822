"""A cluster that was up before: the one of KUBECONFIG, only when RUKPAK_USE_KUBECONFIG=1."""

import os
import subprocess
from pathlib import Path

from e2e.cluster import binaries
from e2e.cluster.errors import ClusterError
from e2e.cluster.files import write_private
from e2e.cluster.image_archive import names_in
from e2e.cluster.state import StateDir

ANSWER_SECONDS = 20.0
SWITCH = "RUKPAK_USE_KUBECONFIG"
IMAGES_LOADED = "RUKPAK_IMAGES_LOADED"


def is_wanted() -> bool:
    value = os.environ.get(SWITCH, "")
    if value not in {"", "0", "1"}:
        raise ClusterError(f"{SWITCH} is {value!r}: it may be 1 or 0")
    return value == "1"


def has_node() -> bool:
    return bool(_kubectl("get", "nodes", "--output=name").strip())


def adopt(state: StateDir) -> None:
    """Copy what KUBECONFIG says about its current context into the state directory."""
    write_private(state.kubeconfig, _kubectl("config", "view", "--minify", "--flatten", "--raw", "--output=json"))


def has_images() -> bool:
    """Whether its nodes have the images already, or pull them: only its owner can tell."""
    return os.environ.get(IMAGES_LOADED) == "1"


def expected_images(archive: Path) -> list[str]:
    if not has_images():
        raise ClusterError(
            f"images cannot be loaded into the cluster of {SWITCH}: bring {archive} to its nodes, or push it to their "
            f"registry, and set {IMAGES_LOADED}=1"
        )
    return names_in(archive) if archive.exists() else []


def _kubectl(*arguments: str) -> str:
    if not os.environ.get("KUBECONFIG"):
        raise ClusterError(f"{SWITCH}=1 but KUBECONFIG is not set: name the cluster to use")
    files = [file for file in os.environ["KUBECONFIG"].split(os.pathsep) if file]
    if not any(Path(file).exists() for file in files):
        raise ClusterError(f"{SWITCH}=1 but {' and '.join(files)}, which KUBECONFIG names, does not exist")
    command = [str(binaries.path("kubectl")), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=ANSWER_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise ClusterError(f"the cluster of {SWITCH} does not answer within {ANSWER_SECONDS:.0f} s") from error
    if done.returncode != 0:
        raise ClusterError(f"the cluster of {SWITCH}: {done.stderr.strip()}")
    return done.stdout

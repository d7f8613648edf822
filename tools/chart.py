"""The chart as other parts see it: where it is, the helm that it is tested with, and the manifest made from it.

The helm is always the pinned one that e2e.cluster builds, never the host's: what is generated must not depend on the
machine.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from e2e.cluster import binaries
from e2e.cluster.errors import ClusterError

CHART = Path(__file__).resolve().parent.parent / "charts/rukpak"
NAMESPACE = "rukpak-system"
OLDEST_KUBERNETES = "1.30.0"

PREAMBLE = f"""\
# Generated from charts/rukpak by `make generate`; do not edit.
# kubectl apply --server-side -f install.yaml
apiVersion: v1
kind: Namespace
metadata:
  name: {NAMESPACE}
  labels:
    app.kubernetes.io/part-of: rukpak
"""
# What only Helm may say about an object.
HELM_ONLY = ("# Source: ", "    helm.sh/chart: ", "    app.kubernetes.io/managed-by: ")


def helm() -> Path:
    return binaries.path("helm")


def built_helm() -> Path | None:
    """The same, or None when it would have to be built first."""
    try:
        place = binaries.location("helm")
    except ClusterError:  # no Go on this machine
        return None
    return place if place.exists() else None


def render(helm_program: Path, *settings: str, folder: Path = CHART) -> str:
    command = [str(helm_program), "template", "rukpak", str(folder), f"--namespace={NAMESPACE}"]
    flags = [f"--kube-version={OLDEST_KUBERNETES}", *(f"--set={setting}" for setting in settings)]
    return subprocess.run([*command, *flags], check=True, capture_output=True, text=True).stdout


def install_manifest(helm_program: Path, *, folder: Path = CHART) -> str:
    lines = render(helm_program, "crds.keep=false", folder=folder).splitlines(keepends=True)
    return PREAMBLE + "".join(line for line in lines if not line.startswith(HELM_ONLY))

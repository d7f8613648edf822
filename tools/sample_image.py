"""The image of manifests/samples/sleeper.yaml for clusters that reach no registry.

It carries the public name that the sample uses, so that the sample is the same everywhere; its content is the cluster's
own static sleeper. No node
of a supported Kubernetes uses that name for its own pause image, which must stay as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from e2e.cluster import binaries
from e2e.cluster.image_archive import Image, write_image

if TYPE_CHECKING:
    from pathlib import Path

NAME = "registry.k8s.io/pause:3.5"


def write(target: Path) -> Path:
    sleeper = binaries.path("pause").read_bytes()
    return write_image(Image(name=NAME, files={"/pause": sleeper}, entrypoint=["/pause"], user="65535:65535"), target)

"""The base of the operator's image: a minimal Debian with Python, git, ssh and busybox, made without any registry.

The image has of it only what image_root.py takes.

Where none can be made (it needs root and apt) it is a public one. RUKPAK_BASE_IMAGE names another. The made one is kept
by the engine under a tag that is the hash of its recipe.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from e2e.cluster import debian
from e2e.cluster.machine import is_root_on_linux

if TYPE_CHECKING:
    from tools.engine import Engine

PUBLIC = "docker.io/library/python:3.11-bookworm"
PACKAGES = ("python3", "python3-venv", "ca-certificates", "git", "openssh-client", "busybox-static", "binutils")
KEPT = ("/usr/share/doc/*/copyright",)


def ensure(engine: Engine) -> str:
    """The name of a base image that the engine has."""
    given = os.environ.get("RUKPAK_BASE_IMAGE", "")
    if given:
        return given
    if not is_root_on_linux() or not shutil.which("apt-get"):
        return PUBLIC
    image = f"localhost/rukpak-py/base:{_recipe_key()}"
    if not engine.has(image):
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder, "rootfs.tar")
            debian.bootstrap(
                PACKAGES, archive, kept=KEPT, purpose="making a base image (RUKPAK_BASE_IMAGE names a ready one)"
            )
            engine.import_rootfs(archive, image)
    return image


def _recipe_key() -> str:
    return hashlib.sha256("\n".join(debian.recipe(PACKAGES, kept=KEPT)).encode()).hexdigest()[:12]

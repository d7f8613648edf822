"""The base of the operator's image: a minimal Debian with Python, git and ssh, made by mmdebstrap without any registry.

RUKPAK_BASE_IMAGE names another base. The made one is kept by the engine under a tag that is the hash of its recipe.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from e2e import tools

if TYPE_CHECKING:
    from e2e.engine import Engine

SUITE = "bookworm"
PACKAGES = ("python3", "python3-venv", "ca-certificates", "git", "openssh-client")
EXCLUDED = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*")


def ensure(engine: Engine) -> str:
    """The name of a base image that the engine has."""
    given = os.environ.get("RUKPAK_BASE_IMAGE", "")
    if given:
        return given
    image = f"localhost/rukpak-py/base:{_recipe_key()}"
    if not engine.has(image):
        _make(engine, image)
    return image


def _make(engine: Engine, image: str) -> None:
    programs = {"mmdebstrap": "mmdebstrap", "gpgv": "gpgv"}
    tools.need(programs, purpose="making a base image (RUKPAK_BASE_IMAGE names a ready one)")
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder, "rootfs.tar")
        subprocess.run([*_recipe(), str(archive), *_sources()], check=True)
        engine.import_rootfs(archive, image)


def _recipe() -> list[str]:
    excluded = [f"--dpkgopt=path-exclude={pattern}" for pattern in EXCLUDED]
    return ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(PACKAGES)}", *excluded, SUITE]


def _recipe_key() -> str:
    return hashlib.sha256("\n".join(_recipe()).encode()).hexdigest()[:12]


def _sources() -> list[str]:
    """On the same Debian, the host's own package sources: they may be a mirror, the only one that can be reached."""
    release = Path("/etc/os-release")
    if not release.exists() or f"VERSION_CODENAME={SUITE}\n" not in release.read_text(encoding="utf-8"):
        return []
    places = [Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list")]
    return [str(place) for place in places if place.exists() and place.stat().st_size][:1]

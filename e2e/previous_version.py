"""The version before this one, of which no release is published: its chart and its image, of a commit in the history.

The tools of that commit build the image, once on a machine: the archive stays in the cache. Its version is another than
that of today, so that a cluster can have both images.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import pytest

COMMIT = "02997fa28b61d5d32b2dbc161de42cb428bbefe7"  # the last one before metrics, alerts and a smaller image
VERSION = "0.0.1"
ROOT = Path(__file__).resolve().parent.parent
OWN_VERSION = re.compile(r'^version = "[0-9.]{1,20}"$', re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class PreviousVersion:
    chart: Path
    archive: Path  # of the image

    @property
    def settings(self) -> list[str]:
        """Values of the chart that choose the image."""
        return [f"image.tag={VERSION}"]


def build() -> PreviousVersion:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rukpak-py"
    folder = cache / "previous" / f"{COMMIT[:12]}-{VERSION}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(dir=folder.parent))
        try:
            _build_in(partial)
            partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return PreviousVersion(chart=folder / "charts/rukpak", archive=folder / "build/rukpak.tar")


def _build_in(folder: Path) -> None:
    with tarfile.open(fileobj=BytesIO(_code())) as archive:
        archive.extractall(folder, filter="data")
    project = folder / "pyproject.toml"
    project.write_text(OWN_VERSION.sub(f'version = "{VERSION}"', project.read_text(encoding="utf-8"), count=1))
    subprocess.run(
        [sys.executable, "-m", "tools.image"], cwd=folder, env=os.environ | {"PYTHONPATH": str(folder)}, check=True
    )


def _code() -> bytes:
    """The commit as a tar. Skips the test where the clone does not have it."""
    try:
        return subprocess.run(["git", "-C", str(ROOT), "archive", COMMIT], capture_output=True, check=True).stdout
    except FileNotFoundError:
        pytest.skip("git, which has the code of the previous version, is not installed")
    except subprocess.CalledProcessError as error:
        reason = error.stderr.decode(errors="replace").strip()
        pytest.skip(f"the code of {COMMIT[:12]} is not in the history of this clone: {reason}")

"""`make image`: the operator's image as build/rukpak.tar, a docker-archive that any cluster can load.

Nothing is built when the archive is of the same sources, lock, base, helm and commit.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from e2e.cluster import binaries
from e2e.cluster.errors import ClusterError
from rukpak_py import __version__
from tools import base_image, engine, wheels
from tools.steps import Steps

ROOT = Path(__file__).resolve().parent.parent
ARCHIVE = ROOT / "build/rukpak.tar"
KEY = ARCHIVE.with_suffix(".key")
PROGRAMS = ROOT / "build/programs"  # what the image has beside Python; of this machine's architecture
RECIPE = (
    "Dockerfile",
    ".dockerignore",
    "pyproject.toml",
    "requirements/runtime.txt",
    "README.md",
    "tools/image_root.py",
)
REPOSITORY = "localhost/rukpak-py/operator"


def name() -> str:
    return f"{REPOSITORY}:{__version__}"


def build(steps: Steps) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rukpak-py"
    builder = engine.find(cache)
    with steps.step("base image"):
        base = base_image.ensure(builder)
    key = _key(base)
    if ARCHIVE.exists() and KEY.exists() and KEY.read_text() == key:
        return ARCHIVE
    KEY.unlink(missing_ok=True)
    with steps.step("wheels"):
        wheels.collect(ROOT, cache, ROOT / "build/wheels", python_version=builder.python_version(base))
    with steps.step("helm"):
        # Charts are rendered by the helm that the tests have: pinned, built from its Go module, downloaded nowhere.
        shutil.rmtree(PROGRAMS, ignore_errors=True)
        PROGRAMS.mkdir(parents=True)
        shutil.copy(binaries.path("helm"), PROGRAMS)
    with steps.step("image"):
        builder.build(name(), ROOT, {"BASE_IMAGE": base}, _labels())
    with steps.step(f"archive {ARCHIVE.relative_to(ROOT)}"):
        builder.save(name(), ARCHIVE)
    KEY.write_text(key)
    return ARCHIVE


def _key(base: str) -> str:
    """Hash of everything that decides what the image is."""
    helm = binaries.location("helm").parent.name  # the hash of everything that it is made of
    key = hashlib.sha256(f"{base} {helm} {sorted(_labels().items())}".encode())
    sources = sorted(file for file in (ROOT / "rukpak_py").rglob("*") if file.is_file() and file.suffix != ".pyc")
    for file in [*(ROOT / name for name in RECIPE), *sources]:
        key.update(f"{file.relative_to(ROOT)} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return key.hexdigest()


def _labels() -> dict[str, str]:
    """Labels of the image: of the commit, not of the moment, so that two builds agree."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    revision, epoch = _git("rev-parse", "HEAD") or "unknown", _git("log", "-1", "--format=%ct") or "0"
    created = datetime.fromtimestamp(int(epoch), tz=UTC)
    return labels(project, revision=revision, created=created, remote=_git("remote", "get-url", "origin"))


def labels(project: dict[str, Any], *, revision: str, created: datetime, remote: str) -> dict[str, str]:
    """Annotations of the OCI image specification. Those that name places on the web need a remote that is one."""
    found = {
        "title": project["name"],
        "description": project["description"],
        "licenses": project["license"],
        "version": __version__,
        "revision": revision,
        "created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    if source := _public_url(remote):
        found |= {"source": source, "documentation": f"{source}/tree/{revision}/docs"}
    return {f"org.opencontainers.image.{key}": value for key, value in found.items()}


def _public_url(remote: str) -> str:
    """The page of the repository; a login in the URL is left out."""
    found = re.fullmatch(
        r"(?:https://(?:[^/@]{1,200}@)?|(?:ssh://)?git@)([\w.-]{1,200})[/:]([\w./-]{1,500}?)(?:\.git)?/?", remote
    )
    return f"https://{found[1]}/{found[2]}" if found else ""


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def main() -> int:
    steps = Steps()
    try:
        archive = build(steps)
    except ClusterError as error:
        print(f"make image: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        said = f": {error.stderr.strip()}" if error.stderr else "; what it printed is above"
        print(f"make image: `{' '.join(error.cmd)}` failed{said}", file=sys.stderr)
        return 1
    print(f"{name()} is in {archive.relative_to(ROOT)} ({archive.stat().st_size / 1e6:.0f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())

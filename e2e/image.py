"""`make image`: the operator's image as build/rukpak.tar, a docker-archive that any cluster can load."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

from e2e import base_image, engine, tools, wheels
from e2e.steps import Steps

ROOT = Path(__file__).resolve().parent.parent
ARCHIVE = ROOT / "build/rukpak.tar"
REPOSITORY = "localhost/rukpak-py/operator"


def version() -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def name() -> str:
    return f"{REPOSITORY}:{version()}"


def build(steps: Steps) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rukpak-py"
    builder = engine.find(cache)
    with steps.step("base image"):
        base = base_image.ensure(builder)
    with steps.step("wheels"):
        wheels.collect(ROOT, cache, ROOT / "build/wheels", python_version=builder.python_version(base))
    with steps.step("image"):
        builder.build(name(), ROOT, {"BASE_IMAGE": base, **_labels()})
    with steps.step(f"archive {ARCHIVE.relative_to(ROOT)}"):
        builder.save(name(), ARCHIVE)
    return ARCHIVE


def _labels() -> dict[str, str]:
    """What the image says about itself: of the commit, not of the moment, so that two builds agree."""
    revision, epoch = _git("rev-parse", "HEAD") or "unknown", _git("log", "-1", "--format=%ct") or "0"
    created = datetime.fromtimestamp(int(epoch), tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"VERSION": version(), "REVISION": revision, "CREATED": created}


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def main() -> int:
    steps = Steps()
    try:
        archive = build(steps)
    except tools.MissingToolsError as error:
        print(f"make image: {error}", file=sys.stderr)
        return 1
    print(f"{name()} is in {archive.relative_to(ROOT)} ({archive.stat().st_size / 1e6:.0f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())

# ruff: noqa: S101 - pytest asserts
"""Images of `bundle build` beside those that buildah makes of the same real bundles with their own Dockerfiles."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from e2e.cluster import packages
from e2e.cluster.machine import is_root_on_linux
from tests.corpus.place import BUNDLES, needs_corpus

ROOT = Path(__file__).resolve().parent.parent
RUKPAKCTL = ROOT / ".venv/bin/rukpakctl"
COUNT = 30
DOCKERFILE = "bundle.Dockerfile"
pytestmark = [
    needs_corpus,
    pytest.mark.skipif(not is_root_on_linux(), reason="buildah without any privileges of its own needs root on Linux"),
]


def bundles_with_dockerfiles() -> list[Path]:
    """Those that are built in their own directory or, as most projects do it, one above."""
    found = sorted(BUNDLES.glob(f"*/{DOCKERFILE}"))
    apart = {line for one in found for line in one.read_text().splitlines() if line.startswith("COPY bundle/")}
    assert apart, "no Dockerfile copies bundle/: the corpus is another one"
    return found[:COUNT]


@pytest.fixture(scope="session")
def buildah(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    packages.require({"buildah": "buildah"}, purpose="comparing images with those of buildah")
    store = tmp_path_factory.mktemp("buildah")
    return ["buildah", "--storage-driver=vfs", f"--root={store / 'root'}", f"--runroot={store / 'run'}"]


def blob(layout: Path, digest: str) -> Path:
    return layout / "blobs" / digest.replace(":", "/")


def read(layout: Path) -> tuple[dict[str, str], dict[str, bytes]]:
    """Labels and files of the image in a layout."""
    [index] = json.loads((layout / "index.json").read_bytes())["manifests"]
    manifest: dict[str, Any] = json.loads(blob(layout, index["digest"]).read_bytes())
    labels = json.loads(blob(layout, manifest["config"]["digest"]).read_bytes())["config"]["Labels"]
    files: dict[str, bytes] = {}
    for layer in manifest["layers"]:
        with tarfile.open(blob(layout, layer["digest"])) as archive:
            for member in archive:
                if member.isfile() and (content := archive.extractfile(member)) is not None:
                    files[member.name.removeprefix("./")] = content.read()
    return {key: value for key, value in labels.items() if not key.startswith("io.buildah.")}, files


@pytest.mark.parametrize(
    "place", bundles_with_dockerfiles() if BUNDLES.exists() else [], ids=lambda path: path.parent.name
)
def test_labels_and_files_are_those_of_buildah(place: Path, buildah: list[str], tmp_path: Path) -> None:
    text = place.read_text()
    root = tmp_path / "project"
    bundle = root / "bundle" if "COPY bundle/" in text else root
    shutil.copytree(place.parent, bundle)
    if bundle != root:
        shutil.move(bundle / DOCKERFILE, root / DOCKERFILE)
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    build = [*buildah, "bud", "--isolation=chroot", "--quiet", "-f", DOCKERFILE, "-t", f"oci:{theirs}", "."]
    subprocess.run(build, cwd=root, check=True, capture_output=True, timeout=120)
    manifests = str((bundle / "manifests").relative_to(root))
    command = ["bundle", "build", "-d", manifests, "--output", str(ours), "--skip-validation"]
    subprocess.run([RUKPAKCTL, *command], cwd=root, check=True, timeout=120)
    assert read(ours) == read(theirs)

"""The files of a release, in dist/: `python -m tools.release check TAG`, and `… files IMAGE DIGEST`.

The wheel and the source archive, the chart and install.yaml, which name the image by its digest, the components of the
images that lie in build/, and SHA256SUMS over all of these. The version is that of `rukpak_py.__version__` everywhere.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from rukpak_py import __version__
from tools import chart

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
SUMS = "SHA256SUMS"
IMAGE = re.compile(r"(?P<registry>[a-z0-9.-]{1,253}(:[0-9]{1,5})?)/(?P<repository>[a-z0-9]+([._/-]+[a-z0-9]+){0,20})")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def check(tag: str) -> None:
    """SystemExit: the tag is not that of the version, the chart has another one, or the changes say nothing of it."""
    if tag != f"v{__version__}":
        raise SystemExit(f"the tag {tag} is not v{__version__}, which rukpak_py/__init__.py says: change one of them")
    described = yaml.safe_load((chart.CHART / "Chart.yaml").read_text(encoding="utf-8"))
    if other := {str(described["version"]), str(described["appVersion"])} - {__version__}:
        raise SystemExit(f"Chart.yaml has {other.pop()}, and rukpak_py/__init__.py {__version__}: change one of them")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(__version__)}\b", changes, re.MULTILINE):
        raise SystemExit(f"CHANGELOG.md has no heading `## {__version__}`: say what changed")


def files(image: str, digest: str, target: Path) -> None:
    named = IMAGE.fullmatch(image)
    if named is None or not DIGEST.fullmatch(digest):
        raise SystemExit("give the image as REGISTRY/REPOSITORY, and its digest as sha256:…")
    target.mkdir(parents=True, exist_ok=True)
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), str(ROOT))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, chart.CHART.name)
        shutil.copytree(chart.CHART, copy)
        values = copy / "values.yaml"
        values.write_text(with_image(values.read_text(encoding="utf-8"), named, digest), encoding="utf-8")
        _run(str(chart.helm()), "package", str(copy), "--destination", str(target))
        manifest = chart.install_manifest(chart.helm(), folder=copy)
    (target / "install.yaml").write_text(manifest, encoding="utf-8")
    for one in sorted((ROOT / "build").glob("*.cdx.json")):
        shutil.copy(one, target)
    sums = [f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}\n" for one in released(target)]
    (target / SUMS).write_text("".join(sums), encoding="utf-8")


def released(target: Path) -> list[Path]:
    return sorted(one for one in target.iterdir() if one.name != SUMS)


def with_image(values: str, named: re.Match[str], digest: str) -> str:
    """The values of the chart with this image, and every comment but the one that says that there is none."""
    values = re.sub(r"(?m)^  # No image is published yet.*\n  # registry of yours.*\n", "", values)
    for field, value in (
        ("registry", named["registry"]),
        ("repository", named["repository"]),
        ("digest", f'"{digest}"'),
    ):
        values, count = re.subn(rf"(?m)^(  {field}: ).*$", rf"\g<1>{value}", values, count=1)
        if count != 1:
            raise SystemExit(f"values.yaml of the chart has no image.{field}")
    return values


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="is this the tag of the version?").add_argument("tag")
    making = commands.add_parser("files", help="make them")
    making.add_argument("image", help="registry and repository")
    making.add_argument("digest")
    making.add_argument("--target", type=Path, default=DIST)
    given = parser.parse_args()
    if given.command == "check":
        check(given.tag)
    else:
        files(given.image, given.digest, given.target)
        print("\n".join(str(one) for one in (*released(given.target), given.target / SUMS)))


if __name__ == "__main__":
    main()

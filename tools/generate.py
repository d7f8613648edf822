"""The generated files: CRDs, admission policies, what is made of them (chart, reference), rules, chart renderings.

Each generator writes below a root, so `--check` generates into an empty folder and compares: a working tree with other
changes in it is judged only by its generated files. What the chart renders needs helm, which `--check` does not build:
where no earlier command built it, the end-to-end suite checks that instead, and this one says so.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rukpak_py import __version__
from tools import causes, chart, metrics, policies, reference, rules, shipped

ROOT = Path(__file__).resolve().parent.parent
CRDS = Path("config/crds")
CHART_CRDS = Path("charts/rukpak/files/crds")
CHART_POLICIES = Path("charts/rukpak/files/policies.yaml")
METRICS = Path("docs/metrics.md")
REFERENCE = Path("docs/reference.md")
RULES = Path("docs/rules.md")
CAUSES = Path("docs/causes.md")
INSTALL = Path("manifests/install.yaml")
SHIPPED = Path("rukpak_py/cli/checks/shipped.json")
CHART_METADATA = Path("charts/rukpak/Chart.yaml")


def write_crds(root: Path) -> None:
    for folder in (CRDS, CHART_CRDS):
        target = root / folder
        target.mkdir(parents=True, exist_ok=True)
        for stale in target.glob("*.yaml"):
            stale.unlink()
        subprocess.run([sys.executable, "-m", "rukpak_py.api.crds", str(target)], cwd=ROOT, check=True)


def write_policies(root: Path) -> None:
    _write(root / CHART_POLICIES, policies.page())


def write_reference(root: Path) -> None:
    _write(root / REFERENCE, reference.page(root / CRDS))


def write_metrics(root: Path) -> None:
    _write(root / METRICS, metrics.page((ROOT / METRICS).read_text(encoding="utf-8")))


def write_rules(root: Path) -> None:
    _write(root / RULES, rules.page())


def write_causes(root: Path) -> None:
    _write(root / CAUSES, causes.page())


def write_version(root: Path) -> None:
    """Write the version of the package to the chart, which has it as its own and as that of the operator."""
    text = (ROOT / CHART_METADATA).read_text(encoding="utf-8")
    _write(root / CHART_METADATA, re.sub(r"(?m)^(version|appVersion): .*$", rf"\1: {__version__}", text))


def write_install_manifest(root: Path, helm: Path) -> None:
    _write(root / INSTALL, chart.install_manifest(helm))


def write_shipped(root: Path, helm: Path) -> None:
    _write(root / SHIPPED, shipped.page(helm))


def _write(target: Path, text: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def differences(generated: Path, paths: list[Path]) -> list[str]:
    """The files that `make generate` would change, as sentences."""
    found = []
    for path in paths:
        wanted, actual = _files(generated / path), _files(ROOT / path)
        for name in sorted(wanted.keys() | actual.keys()):
            if name not in actual:
                found.append(f"{path / name} is missing")
            elif name not in wanted:
                found.append(f"{path / name} is not generated any more")
            elif wanted[name] != actual[name]:
                found.append(f"{path / name} is stale")
    return found


def _files(path: Path) -> dict[str, bytes]:
    if path.is_file():
        return {"": path.read_bytes()}
    return {file.name: file.read_bytes() for file in path.glob("*.yaml")}


def check() -> int:
    paths = [CRDS, CHART_CRDS, CHART_POLICIES, REFERENCE, METRICS, RULES, CAUSES, CHART_METADATA]
    with tempfile.TemporaryDirectory() as folder:
        write_crds(Path(folder))
        write_policies(Path(folder))
        write_reference(Path(folder))
        write_metrics(Path(folder))
        write_rules(Path(folder))
        write_causes(Path(folder))
        write_version(Path(folder))
        helm = chart.built_helm()
        if helm is None:
            print(f"{INSTALL} and {SHIPPED} are left to `make e2e`: helm is not built yet")
        else:
            write_install_manifest(Path(folder), helm)
            write_shipped(Path(folder), helm)
            paths += [INSTALL, SHIPPED]
        found = differences(Path(folder), paths)
    for sentence in found:
        print(sentence, file=sys.stderr)
    if found:
        print("run `make generate` and commit what it changes", file=sys.stderr)
    return 1 if found else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.generate", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when a generated file is stale")
    if parser.parse_args().check:
        return check()
    write_crds(ROOT)
    write_policies(ROOT)
    write_reference(ROOT)
    write_metrics(ROOT)
    write_rules(ROOT)
    write_causes(ROOT)
    write_version(ROOT)
    helm = chart.helm()
    write_install_manifest(ROOT, helm)
    write_shipped(ROOT, helm)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The wheel with its dependencies alone, in an environment of its own: they are enough for all but the operator.

Nothing is downloaded: the distributions that the wheel requires are linked from the environment of the tests.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rukpak_py.operator.entry import EXTRA_PACKAGES
from tests.unit.cli.running import ROOT, SAMPLES, Ran, run_python

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PLAIN_MIB = 50  # 40 today, of them 16 cryptography; with the `kubernetes` package and what it needs it was 130


def required(requirements: list[str], extra: str = "") -> dict[str, Distribution]:
    """The distributions that these requirements mean, and all that those require."""
    found: dict[str, Distribution] = {}
    for requirement in map(Requirement, requirements):
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        one = distribution(requirement.name)
        found |= {canonicalize_name(requirement.name): one, **required(one.requires or [])}
    return found


def files_of(one: Distribution) -> list[Path]:
    """Relative to site-packages; scripts and compiled modules are made again."""
    return [Path(file) for file in one.files or [] if ".." not in file.parts and file.suffix != ".pyc"]


def mib(distributions: dict[str, Distribution]) -> float:
    files = (Path(str(one.locate_file(file))) for one in distributions.values() for file in files_of(one))
    return sum(file.stat().st_size for file in files) / 2**20


@dataclass(frozen=True, kw_only=True)
class Installed:
    bin: Path

    def __call__(self, program: str, *arguments: str | Path) -> Ran:
        environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONSAFEPATH": "1"}
        command = [str(self.bin / program), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
        return Ran(status=done.returncode, out=done.stdout, err=done.stderr)


def python_m(*arguments: str | Path) -> None:
    subprocess.run([sys.executable, "-m", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("installed")
    sources = folder / "sources"
    sources.mkdir()
    shutil.copytree(ROOT / "rukpak_py", sources / "rukpak_py", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, sources)
    python_m("build", "--wheel", "--no-isolation", "--outdir", folder, sources)
    python_m("venv", "--without-pip", folder / "venv")
    (packages,) = (folder / "venv/lib").glob("python3*/site-packages")
    for one in required(PROJECT["dependencies"]).values():
        for file in files_of(one):
            (packages / file).parent.mkdir(parents=True, exist_ok=True)
            (packages / file).symlink_to(Path(str(one.locate_file(file))))
    (wheel,) = folder.glob("*.whl")
    quiet = ("--quiet", "--disable-pip-version-check", "--no-index", "--no-deps")
    python_m("pip", "--python", folder / "venv/bin/python", "install", *quiet, wheel)
    return Installed(bin=folder / "venv/bin")


@pytest.mark.parametrize("name", EXTRA_PACKAGES)
def test_no_dependency_brings_a_package_of_the_extra(name: str) -> None:
    assert name not in required(PROJECT["dependencies"])
    assert name in required(PROJECT["optional-dependencies"]["operator"])


def test_plain_installation_is_small() -> None:
    assert mib(required(PROJECT["dependencies"])) < PLAIN_MIB


@pytest.mark.parametrize(
    "arguments",
    [
        ("version",),
        ("bundle", "validate", SAMPLES / "greeter-v1"),
        ("bundle", "render", SAMPLES / "greeter-v1"),
        ("bundle", "inspect", SAMPLES / "greeter-v1"),
        ("bundle", "permissions", SAMPLES / "greeter-v1"),
        ("bundle", "diff", SAMPLES / "greeter-v1", SAMPLES / "greeter-v1"),
        ("bundle", "generate", "--help"),
        ("catalog", "lint", SAMPLES / "catalog"),
        ("catalog", "list", "packages", SAMPLES / "catalog"),
        ("run", "--help"),
    ],
    ids=lambda arguments: " ".join(map(str, arguments[:2])),
)
def test_command_line_works_without_the_extra(installed: Installed, arguments: tuple[str | Path, ...]) -> None:
    ran = installed("rukpakctl", *arguments)
    assert (ran.status, ran.err) == (0, "")


@pytest.mark.parametrize("command", [("check",), ("plan", "x"), ("history", "x")], ids=lambda command: command[0])
def test_commands_in_a_cluster_need_a_kubeconfig_and_no_extra(installed: Installed, command: tuple[str, ...]) -> None:
    ran = installed("rukpakctl", *command)
    assert ran.err.startswith("Error: no API server: not in a pod")


def test_library_works_without_the_extra(installed: Installed) -> None:
    ran = installed("python", "-c", f"import rukpak_py; print(len(rukpak_py.render({str(SAMPLES / 'greeter-v1')!r})))")
    assert (ran.status, ran.err) == (0, "")
    assert int(ran.out) > 0


OPERATOR = [("rukpak-operator",), ("rukpak-operator", "--log-level=x"), ("python", "-m", "rukpak_py")]


@pytest.mark.parametrize("arguments", OPERATOR, ids=" ".join)
def test_the_operator_names_the_extra_in_one_line(installed: Installed, arguments: tuple[str, ...]) -> None:
    ran = installed(*arguments)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err == "error: rukpak-operator needs kopf, kubernetes, uvloop: pip install 'rukpak-py[operator]'\n"


def test_every_module_of_the_command_line_is_imported_without_the_extra() -> None:
    """Lazily imported ones, too."""
    code = f"""
import importlib, pkgutil, sys
for name in {EXTRA_PACKAGES}:
    sys.modules[name] = None
import rukpak_py.cli
for module in pkgutil.walk_packages(rukpak_py.cli.__path__, "rukpak_py.cli."):
    importlib.import_module(module.name)
print("rukpak_py.cli.cluster.running" in sys.modules)
"""
    assert run_python(code) == "True"

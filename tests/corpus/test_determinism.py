"""The same bundle and options give the same bytes: with other hash seeds, and in another version of Python."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.corpus.place import BUNDLES as ALL_BUNDLES
from tests.corpus.place import needs_corpus

ROOT = Path(__file__).parents[2]
NAMES = (
    "012-ccnfs-operator-5.23.40",  # webhooks, in the order of the CSV
    "222-vault-config-operator-0.6.3",  # most objects
    "231-gitlab-runner-operator-1.1.0",  # definitions of the old version
    "s175-perm-identical",  # duplicates
    "s231-kinds-supported",
    "s302-wh-bad-names",  # many findings
)
BUNDLES = [path for name in NAMES if (path := ALL_BUNDLES / name).exists()]
pytestmark = needs_corpus

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
NEEDED = ("click", "isal", "msgspec", "orjson", "pyyaml", "semver")  # for bundles; an operator needs more
SCRIPT = """
import json, sys
import rukpak_py
from rukpak_py.cli.main import run
for path in sys.argv[1:]:
    for parity in (True, False):
        try:
            json.dump(rukpak_py.render(path, parity=parity, certificates="cert-manager"), sys.stdout)
        except rukpak_py.ContentError as error:
            print(error)
    print(run(["rukpakctl", "bundle", "render", path, "-o", "yaml"]))
    print(run(["rukpakctl", "bundle", "permissions", path, "-o", "yaml"]))
    print(run(["rukpakctl", "bundle", "validate", path, "-o", "json"]))
"""


def printed(python: str, *, seed: str) -> bytes:
    """Output for all bundles, as JSON, as YAML and as findings."""
    return subprocess.run(
        [python, "-c", SCRIPT, *map(str, BUNDLES)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        check=True,
        timeout=120,
    ).stdout


def test_other_hash_seeds_change_nothing() -> None:
    first = printed(sys.executable, seed="1")
    assert len(first) > 100_000  # else nothing was rendered
    assert printed(sys.executable, seed="2") == first


def test_another_version_of_python_changes_nothing() -> None:
    assert printed(other_environment(), seed="3") == printed(sys.executable, seed="4")


def other_environment() -> str:
    """The interpreter of an environment of another version, with what is needed in the locked versions; kept."""
    python = next(other_pythons(), None)
    if python is None:
        pytest.skip(f"no other Python of {', '.join(VERSIONS)} on PATH")
    locked = locked_requirements()
    key = hashlib.sha256(f"{python}\n{locked}".encode()).hexdigest()[:16]
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = caches / "rukpak-py" / "environments" / key
    if not home.exists():
        make_environment(python, home, locked)
    return str(home / "bin" / "python")


def other_pythons() -> Iterator[str]:
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    for version in reversed(VERSIONS):
        python = shutil.which(f"python{version}")
        # a version manager's shim is on PATH whether or not the version can be used
        if version != own and python is not None and _output(python, "-c", "import venv; print('usable')") == "usable":
            yield python


def make_environment(python: str, home: Path, locked: str) -> None:
    """Whole or not at all: it is made beside its place, so two runs do not meet in it."""
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent, ignore_cleanup_errors=True) as scratch:
        made = Path(scratch) / "environment"
        _output(python, "-m", "venv", str(made))
        (made / "requirements.txt").write_text(locked)
        install = ["-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(made / "requirements.txt")]
        done = subprocess.run([made / "bin/python", *install], capture_output=True, text=True, timeout=170, check=False)
        if done.returncode:
            pytest.skip(f"{python} cannot have the locked packages: {done.stderr[-500:]}")
        with suppress(OSError):  # another run was faster
            made.rename(home)


def locked_requirements() -> str:
    """The entries of the needed packages: a line each, and its hashes."""
    entries = re.split(r"\n(?=[a-z])", (ROOT / "requirements" / "runtime.txt").read_text())
    return "\n".join(entry for entry in entries if entry.partition("==")[0] in NEEDED)


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    return done.stdout.strip()

"""The command line, run inside the test's process or in one of its own."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from rukpak_py.cli import main

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = ROOT / "docs/samples"


@dataclass(frozen=True, kw_only=True)
class Ran:
    status: int
    out: str
    err: str


class CommandLine:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str | Path, called: str = "rukpakctl") -> Ran:
        self._capsys.readouterr()
        status = main.run([called, *map(str, arguments)])
        printed = self._capsys.readouterr()
        return Ran(status=status, out=printed.out, err=printed.err)


def program(name: str = "rukpakctl") -> str:
    """The installed script, beside the interpreter."""
    return str(Path(sys.executable).parent / name)


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.strip()

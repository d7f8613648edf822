"""The real kubectl finds the plugin on the PATH, and hands everything through."""

import os
import subprocess
import sys
from pathlib import Path

from e2e.cluster import binaries

ROOT = Path(__file__).parents[3]


def kubectl_rukpak(*arguments: str) -> subprocess.CompletedProcess[str]:
    return kubectl("rukpak", *arguments)


def kubectl(*arguments: str) -> subprocess.CompletedProcess[str]:
    programs = Path(sys.executable).parent
    return subprocess.run(
        [binaries.path("kubectl"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "KUBECONFIG": os.devnull},
    )


def test_kubectl_runs_it_under_its_own_name() -> None:
    shown = kubectl_rukpak("bundle", "validate", "--help")
    assert shown.stdout.startswith("Usage: kubectl rukpak bundle validate [OPTIONS] PATH")


def test_the_exit_status_comes_through_kubectl() -> None:
    assert kubectl_rukpak("bundle", "validate", "docs/samples/greeter-v1").returncode == 0
    assert kubectl_rukpak("bundle", "validate", "docs/samples/greeter-broken").returncode == 1


def test_kubectl_completes_it() -> None:
    """As the scripts of `kubectl completion` ask."""
    profiles = "opm\noperatorhub\noperatorframework\n:4\n"
    assert kubectl("__complete", "rukpak", "bundle", "validate", "--profile=op").stdout == profiles
    assert kubectl("__complete", "rukpak", "bundle", "inspect", "").stdout == ":0\n"

"""kubectl, as a user types it: the pinned one, on one cluster."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from e2e.cluster import binaries

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 120


class KubectlError(Exception):
    """The command failed; the text is what it printed as its error."""


@dataclass(frozen=True, kw_only=True)
class Kubectl:
    program: Path
    kubeconfig: Path

    @classmethod
    def on(cls, kubeconfig: Path) -> Kubectl:
        return cls(program=binaries.path("kubectl"), kubeconfig=kubeconfig)

    def run(self, *arguments: str, stdin: str | None = None, seconds: float = SECONDS) -> str:
        """Run kubectl and return its standard output."""
        done = subprocess.run(
            [str(self.program), f"--kubeconfig={self.kubeconfig}", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        if done.returncode != 0:
            raise KubectlError(done.stderr.strip())
        return done.stdout.strip()

    def get(self, *arguments: str) -> Any:
        return json.loads(self.run("get", *arguments, "--output=json"))

    def wait_ready(self, deployment: str, *, seconds: int = 60) -> None:
        wait = ["wait", "--for=condition=Ready", f"bundledeployment/{deployment}", f"--timeout={seconds}s"]
        self.run(*wait, seconds=seconds + 10)

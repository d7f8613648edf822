"""The container engine that kind works with."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ENGINES = ("docker", "podman", "nerdctl")
CHOICE = "KIND_EXPERIMENTAL_PROVIDER"  # kind's own: which engine it shall use
ANSWER_SECONDS = 15.0
PULL_SECONDS = 60.0
LOAD_SECONDS = 300.0


class UnusableError(Exception):
    """Why kind cannot be used; not an error of the cluster."""


@dataclass(frozen=True, kw_only=True)
class Engine:
    program: str
    host: str = ""  # where a daemon of ours listens; else the engine's own settings hold

    @property
    def environment(self) -> dict[str, str]:
        ours = {"DOCKER_HOST": self.host} if self.host else {}
        return {**os.environ, **ours, CHOICE: self.program}

    @property
    def answers(self) -> bool:
        return self.run("info").returncode == 0

    def has(self, image: str) -> bool:
        return self.run("image", "inspect", image).returncode == 0

    def pull(self, image: str) -> str:
        """Why it could not be pulled; empty when it is there now."""
        return _reason(self.run("pull", image, seconds=PULL_SECONDS))

    def load(self, archive: Path) -> str:
        """Why it could not be loaded; empty when it is there now."""
        return _reason(self.run("load", "--input", str(archive), seconds=LOAD_SECONDS))

    def remove_image(self, image: str) -> None:
        self.run("image", "rm", image)

    def has_network(self, name: str) -> bool:
        return self.run("network", "inspect", name).returncode == 0

    def remove_network(self, name: str) -> None:
        self.run("network", "rm", name)

    def run(self, *arguments: str, seconds: float = ANSWER_SECONDS) -> subprocess.CompletedProcess[str]:
        command = [self.program, *arguments]
        return run_bounded(command, environment=self.environment, seconds=seconds)


def usable_engine() -> Engine:
    """The one that kind is told to use, else the first that answers."""
    chosen = os.environ.get(CHOICE)
    for name in [chosen] if chosen else ENGINES:
        engine = Engine(program=name)
        if shutil.which(name) and engine.answers:
            return engine
    raise UnusableError(f"no container engine answers ({chosen or ', '.join(ENGINES)})")


def run_bounded(command: list[str], *, environment: dict[str, str], seconds: float) -> subprocess.CompletedProcess[str]:
    """A command that takes too long has failed, like any other."""
    try:
        return subprocess.run(
            command, env=environment, check=False, capture_output=True, text=True, timeout=seconds, errors="replace"
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"not done within {seconds:g} s")


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode == 0:
        return ""
    return done.stderr.strip()[-500:] or f"exit code {done.returncode}"

"""The container engine that kind works with."""

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ENGINES = ("docker", "podman", "nerdctl")
CHOICE = "KIND_EXPERIMENTAL_PROVIDER"  # kind's own: which engine it shall use
# What says which daemon is meant: kept with the cluster, because another shell may say something else.
DAEMON_VARIABLES = ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "CONTAINER_HOST")
ANSWER_SECONDS = 15.0
PULL_SECONDS = 60.0
LOAD_SECONDS = 300.0
NOT_FOUND = 127
TIMED_OUT = 124


class UnusableError(Exception):
    """Why kind cannot be used; not an error of the cluster."""


@dataclass(frozen=True, kw_only=True)
class ContainerEngine:
    program: str
    daemon: dict[str, str] = field(default_factory=dict)  # of DAEMON_VARIABLES

    @property
    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name not in DAEMON_VARIABLES}
        return {**inherited, **self.daemon, CHOICE: self.program}

    @property
    def answers(self) -> bool:
        return self.run("info").returncode == 0

    def has(self, image: str) -> bool:
        return self.run("image", "inspect", image).returncode == 0

    def pull(self, image: str, *, seconds: float) -> str:
        """Why it could not be pulled; empty when it is there now."""
        return _reason(self.run("pull", image, seconds=seconds))

    def load(self, archive: Path) -> str:
        """Why it could not be loaded; empty when it is there now."""
        return _reason(self.run("load", "--input", str(archive), seconds=LOAD_SECONDS))

    def remove_image(self, image: str) -> None:
        self.run("image", "rm", image)

    def has_network(self, name: str) -> bool:
        inspected = self.run("network", "inspect", name)
        if inspected.returncode == TIMED_OUT:
            raise UnusableError(f"{self.program} does not answer: {inspected.stderr}")
        return inspected.returncode == 0

    def remove_unused_network(self, name: str) -> None:
        """Not one that a container has, even a stopped one: it could not be started any more."""
        users = self.run("ps", "--all", "--quiet", "--filter", f"network={name}")
        if users.returncode == 0 and not users.stdout.strip():
            self.run("network", "rm", name)

    def run(self, *arguments: str, seconds: float = ANSWER_SECONDS) -> subprocess.CompletedProcess[str]:
        return run_bounded([self.program, *arguments], environment=self.environment, seconds=seconds)


def usable_engine() -> ContainerEngine:
    """The one that kind is told to use, else the first that answers."""
    chosen = os.environ.get(CHOICE)
    if chosen and chosen not in ENGINES:
        raise UnusableError(f"{CHOICE} is {chosen!r}: it may be {', '.join(ENGINES)}")
    daemon = {name: os.environ[name] for name in DAEMON_VARIABLES if name in os.environ}
    for name in [chosen] if chosen else ENGINES:
        engine = ContainerEngine(program=name, daemon=daemon)
        if shutil.which(name) and engine.answers and not _is_podman_in_disguise(engine):
            return engine
    raise UnusableError(f"no container engine answers ({chosen or ', '.join(ENGINES)})")


def run_bounded(command: list[str], *, environment: dict[str, str], seconds: float) -> subprocess.CompletedProcess[str]:
    """A command that takes too long, or that is not there, has failed like any other."""
    try:
        return subprocess.run(
            command, env=environment, check=False, capture_output=True, text=True, timeout=seconds, errors="replace"
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, TIMED_OUT, "", f"not done within {seconds:g} s")
    except FileNotFoundError:
        return subprocess.CompletedProcess(command, NOT_FOUND, "", f"{command[0]} is not on PATH")


def _is_podman_in_disguise(engine: ContainerEngine) -> bool:
    """Debian's podman-docker calls itself docker; kind has to know the difference."""
    return engine.program == "docker" and "podman" in engine.run("--version").stdout.lower()


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode == 0:
        return ""
    return done.stderr.strip()[-500:] or f"exit code {done.returncode}"

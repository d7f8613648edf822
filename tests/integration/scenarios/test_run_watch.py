"""`rukpakctl run --watch` as a process of its own, with a real operator, while its directory is edited."""

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from e2e.kubectl import Kubectl
from tests.manifests import config_map
from tests.shared_operator import SharedOperator

SECONDS = 30  # for the end of a process that was interrupted
UPLOADED = "successfully uploaded bundle content for"


@dataclass
class Developer:
    """A user who edits a directory, with the command beside."""

    kubectl: Kubectl
    port: int  # of the content server
    folder: Path
    name: str = field(default_factory=lambda: f"w{uuid.uuid4().hex[:9]}")
    lines: list[str] = field(default_factory=list)

    @property
    def manifests(self) -> Path:
        return self.folder / "bundle/manifests"

    def saves(self, value: str) -> None:
        self.manifests.mkdir(parents=True, exist_ok=True)
        document = config_map(self.name, "default", key=value)
        (self.manifests / "a.yaml").write_text(json.dumps(document))

    @property
    def command(self) -> list[str]:
        program = [sys.executable, "-m", "tests.integration.scenarios.direct_program", str(self.port)]
        return [*program, "run", self.name, str(self.folder / "bundle"), "--watch"]

    @contextmanager
    def watching(self) -> Iterator[subprocess.Popen[str]]:
        """The command runs, and ends by Ctrl-C."""
        environment = os.environ | {"KUBECONFIG": str(self.kubectl.kubeconfig), "PYTHONUNBUFFERED": "1"}
        with subprocess.Popen(
            self.command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                yield process
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=SECONDS)
                assert (process.returncode, out, err) == (130, "", "")
            finally:
                process.kill()

    def until(self, process: subprocess.Popen[str], beginning: str) -> str:
        """The next line with this beginning."""
        assert process.stdout is not None
        for line in process.stdout:
            self.lines.append(line.rstrip("\n"))
            if line.startswith(beginning):
                return self.lines[-1]
        raise AssertionError(f"no line begins with {beginning!r}: {self.lines}")

    @property
    def installed(self) -> str:
        return self.kubectl.run("get", "configmap", self.name, "--namespace=default", "--output=jsonpath={.data.key}")


@pytest.fixture
def developer(shared_operator: SharedOperator, kubeconfig: Path, tmp_path: Path) -> Iterator[Developer]:
    port = urlsplit(shared_operator.content).port or 0
    developer = Developer(kubectl=Kubectl.on(kubeconfig), port=port, folder=tmp_path)
    yield developer
    developer.kubectl.run("delete", "bundledeployment", developer.name, "--ignore-not-found", "--wait=false")


def test_each_change_is_uploaded_and_its_state_shown(developer: Developer) -> None:
    developer.saves("1")
    with developer.watching() as process:
        first = developer.until(process, UPLOADED)
        developer.until(process, "ready: Succeeded: ")
        assert developer.installed == "1"
        developer.saves("2")
        developer.until(process, "the directory has changed")
        assert developer.until(process, UPLOADED) != first
        developer.until(process, "ready: Succeeded: ")
        assert developer.installed == "2"
    assert developer.kubectl.run("get", "bundledeployment", developer.name, "--output=name")
    assert developer.lines.count("the directory has changed") == 1
    assert not any(line.startswith("\r") for line in developer.lines), "no line is rewritten in a pipe"


def test_files_of_editors_are_neither_a_change_nor_content(developer: Developer) -> None:
    developer.saves("1")
    with developer.watching() as process:
        developer.until(process, "ready: Succeeded: ")
        for name in ("a.yaml~", ".a.yaml.swp", "#a.yaml#"):
            (developer.manifests / name).write_text("kind: [")
        (developer.manifests / ".#a.yaml").symlink_to("user@host.1234:1700000000")
        developer.saves("2")
        developer.until(process, UPLOADED)
        developer.until(process, "ready: Succeeded: ")
    assert developer.installed == "2"
    assert developer.lines.count("the directory has changed") == 1
    assert not any(line.startswith(("not uploaded", "failed")) for line in developer.lines)


def test_content_that_is_wrong_is_shown_until_it_is_repaired(developer: Developer) -> None:
    developer.saves("1")
    with developer.watching() as process:
        developer.until(process, "ready: Succeeded: ")
        (developer.manifests / "a.yaml").write_text("kind: [")
        assert "a.yaml" in developer.until(process, "failed: ")
        assert developer.installed == "1", "what is installed stays"
        (developer.manifests / "gone.yaml").symlink_to("nowhere")
        assert "not there" in developer.until(process, "not uploaded: ")
        (developer.manifests / "gone.yaml").unlink()
        developer.saves("3")
        developer.until(process, "ready: Succeeded: ")
        assert developer.installed == "3"


def test_first_upload_that_fails_ends_the_command(developer: Developer) -> None:
    done = subprocess.run(
        developer.command,
        env=os.environ | {"KUBECONFIG": str(developer.kubectl.kubeconfig)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert done.stdout == ""
    assert "there is no such file or directory" in done.stderr

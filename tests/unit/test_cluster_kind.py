"""kind is used when it can be, and otherwise it is said why not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.cluster import kind
from e2e.cluster.state import StateDir

Install = Callable[[str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a shell script on a PATH that has nothing else but the shell."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def script(name: str, body: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)

    return script


def test_without_kind(install: Install) -> None:
    with pytest.raises(kind.UnusableError, match="not on PATH"):
        kind.usable_engine()


def test_an_engine_without_its_daemon_is_no_engine(install: Install) -> None:
    install("kind", "exit 0")
    install("docker", "exit 1")
    with pytest.raises(kind.UnusableError, match="no container engine answers"):
        kind.usable_engine()


def test_the_next_engine_is_tried(install: Install) -> None:
    install("kind", "exit 0")
    install("docker", "exit 1")
    install("podman", "exit 0")
    assert kind.usable_engine() == "podman"


def test_an_image_that_cannot_be_pulled(install: Install) -> None:
    install("kind", "exit 0")
    install("docker", '[ "$1" = info ]')
    with pytest.raises(kind.UnusableError, match=r"kindest/node:v.* was not pulled"):
        kind.usable_engine()


def test_a_slow_pull_is_not_waited_for(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind, "PULL_SECONDS", 0.2)
    install("kind", "exit 0")
    install("docker", 'case "$1" in info) ;; image) exit 1 ;; *) exec /bin/sleep 60 ;; esac')
    with pytest.raises(kind.UnusableError, match="was not pulled within"):
        kind.usable_engine()


def test_the_kubeconfig_appears_when_the_cluster_is_there(install: Install, tmp_path: Path) -> None:
    state = StateDir(tmp_path / "cluster")
    state.claim()
    install("kind", 'while [ "$1" != --kubeconfig ]; do shift; done; echo config > "$2"')
    kind.create(state, "docker")
    assert state.kubeconfig.read_text() == "config\n"


def test_a_cluster_that_cannot_be_created_is_deleted_and_explained(install: Install, tmp_path: Path) -> None:
    state = StateDir(tmp_path / "cluster")
    state.claim()
    install("kind", f'echo "$1" >> {tmp_path}/calls; [ "$1" = delete ] || {{ echo no cgroups >&2; exit 1; }}')
    with pytest.raises(kind.UnusableError, match="no cgroups"):
        kind.create(state, "docker")
    assert (tmp_path / "calls").read_text().split() == ["create", "delete"]
    assert not state.kubeconfig.exists()

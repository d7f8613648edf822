"""Programs are built once, whole, and again when what they are made of changes."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from e2e.cluster import binaries
from e2e.cluster.errors import ClusterError

GO = """#!/bin/sh
if [ "$3" = env ]; then printf 'go1.26.0\\nlinux\\namd64\\n'; exit; fi
echo "$@" >> {calls}
{build}
while [ "$1" != -o ]; do shift; done
echo program > "$2"
"""


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A `go` that notes its calls and does what the test says before it writes the program."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    binaries._key.cache_clear()

    def install(build: str) -> Path:
        calls = tmp_path / "calls"
        (tmp_path / "go").write_text(GO.format(calls=calls, build=build))
        (tmp_path / "go").chmod(0o755)
        return calls

    return install


@pytest.fixture(autouse=True)
def forget_keys() -> None:
    binaries._key.cache_clear()


def test_a_program_is_built_once(go: Callable[[str], Path]) -> None:
    calls = go("")
    assert binaries.path("kubectl").read_text() == "program\n"
    assert binaries.path("kubectl").read_text() == "program\n"
    assert len(calls.read_text().splitlines()) == 1


def test_two_at_once_build_once(go: Callable[[str], Path]) -> None:
    calls = go("sleep 0.3")
    threads = [threading.Thread(target=binaries.path, args=["kubectl"]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(calls.read_text().splitlines()) == 1


def test_a_failed_build_leaves_no_program_and_says_why(go: Callable[[str], Path]) -> None:
    go("echo no such module; exit 1")
    with pytest.raises(ClusterError, match=r"(?s)could not build kubectl.*GOPROXY.*no such module"):
        binaries.path("kubectl")
    assert not binaries.location("kubectl").exists()


def test_sums_are_never_changed_by_a_build(go: Callable[[str], Path]) -> None:
    calls = go("")
    binaries.path("helm")
    assert "-mod=readonly" in calls.read_text().split()


def test_only_what_is_asked_for_is_built(go: Callable[[str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    calls = go("")
    binaries.ensure(binaries.CONTROL_PLANE)
    built = calls.read_text()
    assert "kubelet" not in built
    assert "helm.sh/helm" not in built  # a checkout may lie in a folder of that name
    assert "building kube-apiserver (2/5)" in capsys.readouterr().out


def test_without_go_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match=r"install Go"):
        binaries.location("kubectl")


def test_kubernetes_says_its_own_version() -> None:
    flags = binaries.linker_flags(binaries.KUBERNETES)
    assert "version.gitVersion=v1.35.4 " in flags
    assert "version.gitMinor=35 " in flags


def test_another_sum_is_another_program(go: Callable[[str], Path], tmp_path: Path) -> None:
    go("")
    module = replace(binaries.PAUSE, folder=tmp_path / "module")
    module.folder.mkdir()
    (module.folder / "go.mod").write_text("module m\n")
    keys = []
    for sums in ("one", "two"):
        (module.folder / "go.sum").write_text(sums)
        binaries._key.cache_clear()
        keys.append(binaries._key(module))
    (module.folder / "main.go").write_text("package main")
    binaries._key.cache_clear()
    keys.append(binaries._key(module))
    assert len(set(keys)) == 3

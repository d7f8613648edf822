"""kind is used when it can be, and otherwise it is said why not."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.cluster import binaries, foreign, lifecycle
from e2e.cluster.errors import ClusterError
from e2e.cluster.image_archive import Image, write_image
from e2e.cluster.kind import cluster as kind
from e2e.cluster.kind import daemon, engine, node_image
from e2e.cluster.kind.cluster import KindCluster
from e2e.cluster.kind.engine import ContainerEngine, UnusableError, usable_engine
from e2e.cluster.state import StateDir

Install = Callable[[str, str], Path]

READY_NODE = '{"items":[{"metadata":{"name":"n"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}]}'
FRESH_NODE = '{"items":[{"metadata":{"name":"n"},"status":{"conditions":[{"type":"Ready","status":"False"}]}}]}'
WRITES_KUBECONFIG = (
    '[ "$1" = create ] && for word; do case "$word" in --kubeconfig=*) echo config > "${word#*=}" ;; esac; done; exit 0'
)


@pytest.fixture(autouse=True)
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the real machine is changed, also by root."""
    monkeypatch.setattr(kind, "MODULES", tmp_path / "modules")
    monkeypatch.setattr(kind, "LEFT_BEHIND", ())
    monkeypatch.setattr(kind, "record_settings", lambda _state: None)
    monkeypatch.setattr(kind, "restore_settings", lambda _state: None)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a shell script on a PATH that has nothing else but the shell."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv(engine.CHOICE, raising=False)

    def script(name: str, body: str) -> Path:
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
        return folder / name

    return script


@pytest.fixture
def state(tmp_path: Path) -> StateDir:
    return StateDir(tmp_path / "cluster")


def has_node(install: Install, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    kubectl = install("kubectl", f"echo '{answer}'")
    monkeypatch.setattr(binaries, "path", lambda name: kubectl)


def test_without_kind(install: Install, state: StateDir) -> None:
    with pytest.raises(UnusableError, match="not on PATH"):
        kind.create_if_usable(state)


def test_an_engine_without_its_daemon_is_no_engine(install: Install) -> None:
    install("docker", "exit 1")
    with pytest.raises(UnusableError, match="no container engine answers"):
        usable_engine()


def test_the_next_engine_is_tried(install: Install) -> None:
    install("docker", "exit 1")
    install("podman", "exit 0")
    assert usable_engine().program == "podman"


def test_kinds_own_choice_of_an_engine_holds(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("docker", "exit 0")
    install("podman", "exit 0")
    monkeypatch.setenv(engine.CHOICE, "podman")
    assert usable_engine().program == "podman"


def test_an_engine_that_kind_does_not_know_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(engine.CHOICE, "rkt")
    with pytest.raises(UnusableError, match="'rkt': it may be docker, podman, nerdctl"):
        usable_engine()


def test_an_image_that_cannot_be_pulled_is_named_with_the_reason(install: Install, state: StateDir) -> None:
    install("kind", "exit 0")
    install("docker", '[ "$1" = info ] || { echo no route to host >&2; exit 1; }')
    with pytest.raises(UnusableError, match=r"kindest/node:v.* could not be pulled: no route to host"):
        kind.create_if_usable(state)


def test_a_slow_pull_is_not_waited_for(install: Install) -> None:
    install("docker", "exec /bin/sleep 60")
    assert ContainerEngine(program="docker").pull("some/image:1", seconds=0.2) == "not done within 0.2 s"


def test_the_kubeconfig_appears_when_the_node_is_ready(
    install: Install, state: StateDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("kind", WRITES_KUBECONFIG)
    install("docker", "exit 0")
    has_node(install, monkeypatch, READY_NODE)
    kind.create_if_usable(state)
    assert state.kubeconfig.read_text() == "config\n"
    assert KindCluster.read(state.read()).engine.program == "docker"


def test_a_node_that_is_not_ready_is_a_failure_although_kind_ends_well(
    install: Install, state: StateDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("kind", WRITES_KUBECONFIG)
    install("docker", '[ "$1" = exec ] && echo "kubelet: cgroup v1 is not supported" || true')
    has_node(install, monkeypatch, FRESH_NODE)
    with pytest.raises(UnusableError, match=r"(?s)not ready within 120 s: n\n.*cgroup v1 is not supported"):
        kind.create_if_usable(state)
    assert not state.kubeconfig.exists()


def test_a_cluster_without_a_node_is_not_ready(
    install: Install, state: StateDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("kind", WRITES_KUBECONFIG)
    install("docker", "exit 0")
    has_node(install, monkeypatch, '{"items":[]}')
    with pytest.raises(UnusableError, match="it has no node"):
        kind.create_if_usable(state)


def test_a_cluster_that_cannot_be_created_is_deleted_and_explained(
    install: Install, state: StateDir, tmp_path: Path
) -> None:
    install("kind", f'echo "$*" >> {tmp_path}/calls; [ "$1" = delete ] || {{ echo preparing nodes >&2; exit 1; }}')
    install("docker", '[ "$1" = exec ] && echo "the cause, of the journal" || true')
    with pytest.raises(UnusableError, match=r"(?s)preparing nodes.*the cause, of the journal"):
        kind.create_if_usable(state)
    kind.remove(state, KindCluster.read(state.read()))
    created, deleted = (tmp_path / "calls").read_text().splitlines()
    assert created.startswith("create cluster")
    assert deleted.startswith(f"delete cluster --kubeconfig={state.kubeconfig}")
    assert "the cause" in (state.logs / "kind-node.log").read_text()


def test_daemon_and_network_from_before_stay(install: Install, state: StateDir, tmp_path: Path) -> None:
    install("kind", "exit 0")
    install("docker", f'echo "$*" >> {tmp_path}/calls')
    kind.MODULES.mkdir()
    there = KindCluster(engine=ContainerEngine(program="docker"), image="kindest/node:v1", found_network=True)
    kind.remove(state, there)
    assert not (tmp_path / "calls").exists()
    assert kind.MODULES.exists()


def test_daemon_image_and_network_of_the_cluster_are_removed(install: Install, state: StateDir, tmp_path: Path) -> None:
    install("kind", "exit 0")
    install("docker", f'echo "$*" >> {tmp_path}/calls')
    kind.MODULES.mkdir()
    image = f"{node_image.REPOSITORY}:1"
    key = tmp_path / "key.json"
    key.write_text("{}")
    engine = ContainerEngine(program="docker")
    made = KindCluster(engine=engine, image=image, absent=(str(kind.MODULES), str(key), str(tmp_path / "never made")))
    kind.remove(state, KindCluster.read(json.loads(json.dumps(made.record()))))
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls == [f"image rm {image}", "ps --all --quiet --filter network=kind", "network rm kind"]
    assert not kind.MODULES.exists()
    assert not key.exists()


def test_network_in_use_stays(install: Install, state: StateDir, tmp_path: Path) -> None:
    install("kind", "exit 0")
    install("docker", f'echo "$*" >> {tmp_path}/calls; [ "$1" = ps ] && echo 0123abcd')
    kind.remove(state, KindCluster(engine=ContainerEngine(program="docker"), image="kindest/node:v1"))
    assert "network rm" not in (tmp_path / "calls").read_text()


def test_an_engine_that_is_gone_keeps_the_record_and_puts_the_machine_back(install: Install, state: StateDir) -> None:
    install("kind", "echo Cannot connect >&2; exit 1")
    kind.MODULES.mkdir()
    made = KindCluster(engine=ContainerEngine(program="docker"), image="kindest/node:v1", absent=(str(kind.MODULES),))
    with pytest.raises(ClusterError, match="Cannot connect\nSee to it that docker answers, then run `down` again"):
        kind.remove(state, made)
    assert not kind.MODULES.exists()


def test_the_daemon_of_a_cluster_is_remembered(
    install: Install, state: StateDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("docker", 'echo "$DOCKER_HOST"')
    monkeypatch.setenv("DOCKER_HOST", "unix:///first")
    cluster = KindCluster(engine=usable_engine(), image="kindest/node:v1")
    monkeypatch.setenv("DOCKER_HOST", "unix:///another")
    again = KindCluster.read(json.loads(json.dumps(cluster.record())))
    assert again == cluster
    assert again.engine.run("info").stdout == "unix:///first\n"


def test_a_record_of_another_commit_is_read() -> None:
    cluster = KindCluster(engine=ContainerEngine(program="docker"), image="kindest/node:v1", found_network=True)
    record = cluster.record()["kind"] | {"found_modules": False}
    del record["absent"]
    assert KindCluster.read({"provider": "kind", "kind": record}) == cluster


def test_podman_that_calls_itself_docker_is_podman(install: Install) -> None:
    install("docker", "echo podman version 4.3.1")
    install("podman", "exit 0")
    assert usable_engine().program == "podman"


def test_without_root_an_engine_that_cannot_is_a_failure(
    install: Install, state: StateDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "is_root_on_linux", lambda: False)
    monkeypatch.setattr(node_image, "is_root_on_linux", lambda: False)
    install("kind", "exit 0")
    install("docker", '[ "$1" = info ] || { echo no route to host >&2; exit 1; }')
    with pytest.raises(UnusableError, match="building a node image needs root on Linux"):
        kind.create(state)


def test_root_goes_on_with_a_daemon_of_the_project(
    install: Install, state: StateDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("kind", f'[ "$1" = create ] && [ -z "$DOCKER_HOST" ] && exit 1; {WRITES_KUBECONFIG}')
    install("docker", "exit 0")
    has_node(install, monkeypatch, READY_NODE)
    monkeypatch.setattr(kind, "is_root_on_linux", lambda: True)
    ours = KindCluster(
        engine=ContainerEngine(program="docker", daemon={"DOCKER_HOST": "unix:///ours"}),
        image=f"{node_image.REPOSITORY}:1",
        has_daemon=True,
        node_address="10.201.0.2",
    )
    monkeypatch.setattr(kind, "_with_daemon", lambda state: kind._claimed(state, ours))
    assert kind.create(state).has_daemon
    assert "apiServerAddress: 10.201.0.2" in (state.kind / "config.yaml").read_text()


def test_an_engine_that_was_chosen_is_not_replaced(
    install: Install, state: StateDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = "Creating cluster ...\\nPreparing nodes"
    install("kind", f'[ "$1" = delete ] || {{ printf "{progress}\\nERROR: no capability\\n" >&2; exit 1; }}')
    install("podman", '[ "$1" != exec ]')
    monkeypatch.setenv(engine.CHOICE, "podman")
    monkeypatch.setattr(kind, "is_root_on_linux", lambda: True)
    with pytest.raises(UnusableError, match="Without KIND_EXPERIMENTAL_PROVIDER") as refused:
        kind.create(state)
    assert str(refused.value).startswith("kind could not create a cluster:\n  ERROR: no capability\n")


@pytest.mark.parametrize("folder", ["/run/rukpak", f"/nowhere/{'x' * 100}"])
def test_a_state_that_the_daemon_cannot_use_is_refused_before_an_image_is_made(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_image, "ours", lambda: pytest.fail("an image is made"))
    with pytest.raises(ClusterError, match=r"choose (another|a shorter --state)"):
        kind._with_daemon(StateDir(Path(folder)))


def test_unknown_provider_is_refused(state: StateDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(lifecycle.CHOICE, "minikube")
    with pytest.raises(ClusterError, match="may be built or kind"):
        lifecycle.up(state.path, node=False)


@pytest.mark.parametrize("option", ["--bundle", "--process"])
def test_a_runtime_gives_no_capability_that_root_lacks(tmp_path: Path, option: str) -> None:
    granted = {"bounding": ["CAP_SYS_RESOURCE", "CAP_KILL"], "ambient": None}
    process = {"args": ["sh"], "capabilities": granted}
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"process": process} if option == "--bundle" else process))
    place = tmp_path if option == "--bundle" else file
    command = [sys.executable, "-I", str(daemon.RUNTIME_WRAPPER), "/bin/echo", "create", option, str(place), "name"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert shown == f"create {option} {place} name\n"
    written = json.loads(file.read_text())
    assert written.get("process", written) == {
        "args": ["sh"],
        "capabilities": {"bounding": ["CAP_KILL"], "ambient": None},
    }


def test_images_count_as_loaded_into_a_foreign_cluster_only_when_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = write_image(Image(name="example.test/app:1", files={"/a": b"a"}), tmp_path / "image.tar")
    monkeypatch.delenv(foreign.IMAGES_LOADED, raising=False)
    with pytest.raises(ClusterError, match=foreign.IMAGES_LOADED):
        foreign.expected_images(archive)
    monkeypatch.setenv(foreign.IMAGES_LOADED, "1")
    assert foreign.expected_images(archive) == ["example.test/app:1"]

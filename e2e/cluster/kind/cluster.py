"""Create and delete a cluster of kind, and load images into it."""

import contextlib
import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from e2e.cluster import binaries
from e2e.cluster.errors import ClusterError
from e2e.cluster.files import write_private
from e2e.cluster.kind import node_image
from e2e.cluster.kind.daemon import Daemon
from e2e.cluster.kind.engine import Engine, UnusableError, run_bounded, usable_engine
from e2e.cluster.machine import is_root_on_linux
from e2e.cluster.node.layout import Layout
from e2e.cluster.processes import Processes
from e2e.cluster.settings import CHANGED_BY_OTHERS, record_settings, restore_settings
from e2e.cluster.state import StateDir
from e2e.cluster.steps import step

CREATE_SECONDS = 300.0
READY_SECONDS = 120
API_PORT = 6443
NETWORK = "kind"  # of the engine; kind makes it and leaves it
MODULES = Path("/lib/modules")  # kind mounts it, and a machine without modules need not have it
JOURNAL_LINES = 60


@dataclass(frozen=True, kw_only=True)
class KindCluster:
    """How the cluster of a state directory was made; what `cluster.json` says of it."""

    engine: Engine
    image: str
    has_daemon: bool = False  # the engine is a daemon of ours
    found_network: bool = False
    found_modules: bool = True
    outside: str = ""  # the address of this machine for the cluster; only with a daemon of ours
    inside: str = ""  # where published ports are; else on this machine

    def record(self) -> dict[str, Any]:
        return {
            "provider": "kind",
            "node": True,
            "engine": self.engine.program,
            "engine_host": self.engine.host,
            "image": self.image,
            "has_daemon": self.has_daemon,
            "found_network": self.found_network,
            "found_modules": self.found_modules,
            "outside": self.outside,
            "inside": self.inside,
        }

    @classmethod
    def read(cls, record: dict[str, Any]) -> Self:
        return cls(
            engine=Engine(program=record["engine"], host=record["engine_host"]),
            **{name: record[name] for name in ("image", "has_daemon", "found_network", "found_modules")},
            outside=record["outside"],
            inside=record["inside"],
        )


def create_if_usable(state: StateDir) -> KindCluster:
    """With what is there: kind on PATH, an engine that answers, a node image that it has or can pull."""
    if not shutil.which("kind"):
        raise UnusableError("kind is not on PATH")
    engine = usable_engine()
    return _create(state, _claimed(state, KindCluster(engine=engine, image=node_image.pulled(engine))))


def create(state: StateDir) -> KindCluster:
    """With what is there, or with a Docker daemon of ours: root on Linux."""
    _program()
    try:
        engine = usable_engine()
        return _create(state, _claimed(state, KindCluster(engine=engine, image=_image(engine))))
    except UnusableError as reason:
        if not is_root_on_linux():
            raise
        print(f"{reason}\nwith a Docker daemon of ours, then", flush=True)
    if state.exists:
        remove(state, KindCluster.read(state.read()))
    return _create(state, _with_daemon(state))


def remove(state: StateDir, cluster: KindCluster) -> None:
    if cluster.has_daemon:
        Daemon(state).stop(Processes(record=state.processes, logs=state.logs))
    else:
        _delete(state, cluster)
        if node_image.is_ours(cluster.image):
            cluster.engine.remove_image(cluster.image)
        if not cluster.found_network:
            cluster.engine.remove_network(NETWORK)
    if not cluster.found_modules:
        with contextlib.suppress(OSError):
            MODULES.rmdir()
    restore_settings(_settings(state))


def load_image(state: StateDir, cluster: KindCluster, archive: Path) -> None:
    done = _kind(state, cluster, ["load", "image-archive", str(archive)])
    if done.returncode != 0:
        raise ClusterError(f"kind could not load {archive}: {done.stderr.strip()[-500:]}")


def _with_daemon(state: StateDir) -> KindCluster:
    daemon = Daemon(state)
    cluster = _claimed(state, KindCluster(engine=daemon.engine, image="", has_daemon=True))
    with step("starting a Docker daemon"):
        outside, inside = daemon.start(Processes(record=state.processes, logs=state.logs))
    image = node_image.ours(daemon.engine)
    found = KindCluster.read({**cluster.record(), "image": image, "outside": outside, "inside": inside})
    state.write(found.record())
    return found


def _claimed(state: StateDir, cluster: KindCluster) -> KindCluster:
    """Recorded before anything is made, so that it can be taken away again whatever happens."""
    state.claim()
    state.kind.mkdir(mode=0o700, exist_ok=True)
    record_settings(_settings(state), CHANGED_BY_OTHERS)
    found_network = not cluster.has_daemon and cluster.engine.has_network(NETWORK)
    needs_modules = is_root_on_linux() and not MODULES.exists()
    seen = {"found_network": found_network, "found_modules": not needs_modules}
    found = KindCluster.read({**cluster.record(), **seen})
    state.write(found.record())
    if needs_modules:
        MODULES.mkdir()
    return found


def _image(engine: Engine) -> str:
    try:
        return node_image.pulled(engine)
    except UnusableError as reason:
        print(reason, flush=True)
        return node_image.ours(engine)


def _create(state: StateDir, cluster: KindCluster) -> KindCluster:
    unfinished = state.pki / "kind.kubeconfig"
    options = [f"--config={_configuration(state, cluster)}", f"--image={cluster.image}", f"--kubeconfig={unfinished}"]
    with step("creating a cluster with kind"):
        done = _kind(state, cluster, ["create", "cluster", *options, f"--wait={READY_SECONDS}s", "--retain"])
    if done.returncode != 0:
        journal = _journal(state, cluster)
        _delete(state, cluster)
        raise UnusableError(f"kind could not create a cluster: {done.stderr.strip()[-1000:]}{journal}")
    if not _is_ready(unfinished):  # kind ends well when its own wait runs out
        journal = _journal(state, cluster)
        _delete(state, cluster)
        raise UnusableError(f"kind's node was not ready within {READY_SECONDS} s{journal}")
    write_private(state.kubeconfig, unfinished.read_bytes())
    return cluster


def _configuration(state: StateDir, cluster: KindCluster) -> Path:
    text = node_image.CONFIGURATION.read_text()
    if cluster.inside:
        # With a port: kind looks for a free one on this machine, which does not have the address.
        text += f"networking:\n  apiServerAddress: {cluster.inside}\n  apiServerPort: {API_PORT}\n"
    configuration = state.kind / "config.yaml"
    write_private(configuration, text)
    return configuration


def _is_ready(kubeconfig: Path) -> bool:
    command = [str(binaries.path("kubectl")), f"--kubeconfig={kubeconfig}", "get", "nodes", "--output=json"]
    listed = subprocess.run(command, check=False, capture_output=True, text=True)
    if listed.returncode != 0:
        return False
    conditions = [node["status"]["conditions"] for node in json.loads(listed.stdout)["items"]]
    return all(any(one["type"] == "Ready" and one["status"] == "True" for one in each) for each in conditions)


def _journal(state: StateDir, cluster: KindCluster) -> str:
    """What the node says: the cause of what kind only sees fail. All of it goes to the logs."""
    node = f"{_name(state)}-control-plane"
    shown = cluster.engine.run("exec", node, "journalctl", "--no-pager", "--unit=kubelet", "--unit=containerd")
    text = shown.stdout or cluster.engine.run("logs", node).stdout
    if not text:
        return ""
    log = state.logs / "kind-node.log"
    log.write_text(text)
    end = "\n".join(f"  {line}" for line in text.splitlines()[-JOURNAL_LINES:])
    return f"\nThe end of the node's journal ({log}):\n{end}"


def _delete(state: StateDir, cluster: KindCluster) -> None:
    done = _kind(state, cluster, ["delete", "cluster", f"--kubeconfig={state.kubeconfig}"])
    if done.returncode != 0:
        raise ClusterError(f"kind could not delete its cluster: {done.stderr.strip()[-500:]}")


def _kind(state: StateDir, cluster: KindCluster, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    command = [_program(), *arguments, f"--name={_name(state)}"]
    return run_bounded(command, environment=cluster.engine.environment, seconds=CREATE_SECONDS)


def _program() -> str:
    return shutil.which("kind") or str(binaries.path("kind"))


def _name(state: StateDir) -> str:
    return f"rukpak-{Layout(state).identity}"


def _settings(state: StateDir) -> Path:
    return state.kind / "settings.json"

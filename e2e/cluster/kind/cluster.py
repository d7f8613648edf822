"""Create and delete a cluster of kind, and load images into it.

What a cluster is made of is recorded before it is made, so that `remove` finds it whatever happened in between.
"""

import contextlib
import json
import os
import shutil
import subprocess
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from e2e.cluster import binaries
from e2e.cluster.errors import ClusterError
from e2e.cluster.files import write_private
from e2e.cluster.kind import node_image
from e2e.cluster.kind.daemon import LEFT_BEHIND, Daemon, lacking_capability
from e2e.cluster.kind.engine import CHOICE, PULL_SECONDS, ContainerEngine, UnusableError, run_bounded, usable_engine
from e2e.cluster.machine import environment_without_proxies, is_root_on_linux
from e2e.cluster.node.layout import Layout
from e2e.cluster.processes import Processes
from e2e.cluster.settings import record_settings, restore_settings
from e2e.cluster.state import StateDir
from e2e.cluster.steps import step

CREATE_SECONDS = 300.0
READY_SECONDS = 120
PATIENT_PULL_SECONDS = 900.0  # when kind was asked for
API_PORT = 6443
NETWORK = "kind"  # of the engine; kind makes it and leaves it
MODULES = Path("/lib/modules")  # kind mounts it, and a machine without modules need not have it
JOURNAL_LINES = 60
ERROR_LINES = 12


@dataclass(frozen=True, kw_only=True)
class KindCluster:
    """How the cluster of a state directory was made; what `cluster.json` says of it."""

    engine: ContainerEngine
    image: str
    has_daemon: bool = False  # the engine is a daemon of ours
    found_network: bool = False
    absent: tuple[str, ...] = ()  # what this machine did not have before, and has not afterwards
    host_address: str = ""  # of this machine, for the cluster; empty: like that of any other program
    node_address: str = ""  # where published ports are; empty: on this machine

    def record(self) -> dict[str, Any]:
        return {"provider": "kind", "node": True, "kind": asdict(self)}

    @classmethod
    def read(cls, record: dict[str, Any]) -> Self:
        """Read what `record` wrote, by another commit perhaps: what it made has to go as well."""
        found = {name: value for name, value in record["kind"].items() if name in cls.__dataclass_fields__}
        return cls(**{**found, "engine": ContainerEngine(**found["engine"]), "absent": tuple(found.get("absent", ()))})


def create_if_usable(state: StateDir) -> KindCluster:
    """With what is there: kind on PATH, an engine that answers, a node image that it has or can pull."""
    if not shutil.which("kind"):
        raise UnusableError("kind is not on PATH")
    engine = usable_engine()
    image = node_image.pulled(engine, seconds=PULL_SECONDS)
    return _create(state, _claimed(state, KindCluster(engine=engine, image=image)))


def create(state: StateDir) -> KindCluster:
    """With what is there, or with a Docker daemon of ours: root on Linux."""
    _program()
    try:
        return _create_with(state, usable_engine())
    except UnusableError as reason:
        if not is_root_on_linux():
            raise
        if os.environ.get(CHOICE):
            raise UnusableError(f"{reason}\nWithout {CHOICE} a Docker daemon of this project is used") from reason
        print(f"{reason}\nusing a Docker daemon of this project instead", flush=True)
    if state.exists:
        remove(state, KindCluster.read(state.read()))
    return _create(state, _with_daemon(state))


def remove(state: StateDir, cluster: KindCluster) -> None:
    try:
        if cluster.has_daemon:
            Daemon(state).stop(Processes(record=state.processes, logs=state.logs))
        else:
            _delete(state, cluster)
            if node_image.is_ours(cluster.image):
                cluster.engine.remove_image(cluster.image)
            if not cluster.found_network:
                cluster.engine.remove_unused_network(NETWORK)
    finally:
        for path in map(Path, cluster.absent):
            with contextlib.suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
        restore_settings(state.path)


def load_image(state: StateDir, cluster: KindCluster, archive: Path) -> None:
    done = _kind(state, cluster, ["load", "image-archive", str(archive)])
    if done.returncode != 0:
        raise ClusterError(f"kind could not load {archive}: {done.stderr.strip()[-500:]}")


def _create_with(state: StateDir, engine: ContainerEngine) -> KindCluster:
    try:
        image = node_image.pulled(engine, seconds=PATIENT_PULL_SECONDS)
        return _create(state, _claimed(state, KindCluster(engine=engine, image=image)))
    except node_image.NotPulledError as reason:
        print(reason, flush=True)
    with node_image.ours() as ours:
        cluster = _claimed(state, KindCluster(engine=engine, image=ours.name))
        ours.load(engine)
    return _create(state, cluster)


def _with_daemon(state: StateDir) -> KindCluster:
    daemon = Daemon(state)
    daemon.refuse_unusable_state()  # before minutes are spent on an image
    with node_image.ours() as ours:
        cluster = _claimed(state, KindCluster(engine=daemon.engine, image=ours.name, has_daemon=True))
        with step("starting a Docker daemon"):
            host_address, node_address = daemon.start(Processes(record=state.processes, logs=state.logs))
        cluster = replace(cluster, host_address=host_address, node_address=node_address)
        state.write(cluster.record())
        ours.load(daemon.engine)
    return cluster


def _claimed(state: StateDir, cluster: KindCluster) -> KindCluster:
    state.claim()
    state.kind.mkdir(mode=0o700, exist_ok=True)
    watched = (MODULES, *(LEFT_BEHIND if cluster.has_daemon else ())) if is_root_on_linux() else ()
    absent = tuple(str(path) for path in watched if not path.exists())
    found_network = not cluster.has_daemon and cluster.engine.has_network(NETWORK)
    found = replace(cluster, found_network=found_network, absent=absent)
    state.write(found.record())
    record_settings(state.path)
    if str(MODULES) in absent:
        MODULES.mkdir(exist_ok=True)
    return found


def _create(state: StateDir, cluster: KindCluster) -> KindCluster:
    unfinished = state.pki / "kind.kubeconfig"
    options = [f"--config={_configuration(state, cluster)}", f"--image={cluster.image}", f"--kubeconfig={unfinished}"]
    with step("creating a cluster with kind"):
        done = _kind(state, cluster, ["create", "cluster", *options, f"--wait={READY_SECONDS}s", "--retain"])
        if done.returncode != 0:
            why = f"{_end_of(done.stderr)}{lacking_capability()}"
            raise UnusableError(f"kind could not create a cluster:\n{why}{_journal(state, cluster)}")
        if reason := _not_ready(unfinished):  # kind ends well when its own wait runs out
            raise UnusableError(f"kind made a cluster, but {reason}{_journal(state, cluster)}")
    write_private(state.kubeconfig, unfinished.read_bytes())
    return cluster


def _configuration(state: StateDir, cluster: KindCluster) -> Path:
    text = node_image.CONFIGURATION.read_text()
    if cluster.node_address:
        # With a port: kind looks for a free one on this machine, which does not have the address.
        text += f"networking:\n  apiServerAddress: {cluster.node_address}\n  apiServerPort: {API_PORT}\n"
    configuration = state.kind / "config.yaml"
    write_private(configuration, text)
    return configuration


def _not_ready(kubeconfig: Path) -> str:
    """Why its nodes cannot be used; empty when all of them are ready."""
    command = [str(binaries.path("kubectl")), f"--kubeconfig={kubeconfig}", "get", "nodes", "--output=json"]
    listed = run_bounded(command, environment=environment_without_proxies(), seconds=READY_SECONDS)
    if listed.returncode != 0:
        return f"its API server does not answer: {listed.stderr.strip()[-500:]}"
    nodes = json.loads(listed.stdout)["items"]
    if not nodes:
        return "it has no node"
    waiting = [node["metadata"]["name"] for node in nodes if not _is_ready(node)]
    return f"not ready within {READY_SECONDS} s: {', '.join(waiting)}" if waiting else ""


def _is_ready(node: dict[str, Any]) -> bool:
    return any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"]["conditions"])


def _journal(state: StateDir, cluster: KindCluster) -> str:
    """The node's journal, which has the cause of a failure that kind only reports. All of it goes to the logs."""
    node = f"{_name(state)}-control-plane"
    shown = cluster.engine.run("exec", node, "journalctl", "--no-pager", "--unit=kubelet", "--unit=containerd")
    text = shown.stdout or cluster.engine.run("logs", node).stdout
    if not text:
        return ""
    log = state.logs / "kind-node.log"
    log.write_text(text)
    end = "\n".join(f"  {line}" for line in text.splitlines()[-JOURNAL_LINES:])
    return f"\nThe end of the node's journal ({log}):\n{end}"


def _end_of(text: str) -> str:
    """Its last lines: what failed, and not the progress before it."""
    lines = text.strip().splitlines()
    begin = next((number for number, line in enumerate(lines) if line.startswith("ERROR")), 0)
    return "\n".join(f"  {line}" for line in lines[begin:][-ERROR_LINES:])


def _delete(state: StateDir, cluster: KindCluster) -> None:
    done = _kind(state, cluster, ["delete", "cluster", f"--kubeconfig={state.kubeconfig}"])
    if done.returncode != 0:
        raise ClusterError(
            f"kind could not delete its cluster: {done.stderr.strip()[-500:]}\n"
            f"See to it that {cluster.engine.program} answers, then run `down` again."
        )


def _kind(state: StateDir, cluster: KindCluster, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    command = [_program(), *arguments, f"--name={_name(state)}"]
    return run_bounded(command, environment=cluster.engine.environment, seconds=CREATE_SECONDS)


def _program() -> str:
    return shutil.which("kind") or str(binaries.path("kind"))


def _name(state: StateDir) -> str:
    return f"rukpak-{Layout(state).identity}"

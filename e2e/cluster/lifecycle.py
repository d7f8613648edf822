"""up, down, status and load-image of the cluster in one state directory, whichever way it was made.

The record `cluster.json` says which: `provider` is `built`, `kind` or `kubeconfig`. RUKPAK_CLUSTER_PROVIDER chooses
`built` or `kind`; kind then makes what it does not find. Without it, kind is used where nothing has to be made for it.
"""

import os
import subprocess
from pathlib import Path

from e2e.cluster import address, binaries, foreign
from e2e.cluster.control_plane import ControlPlane
from e2e.cluster.errors import ClusterError
from e2e.cluster.image_archive import names_in
from e2e.cluster.kind import cluster as kind
from e2e.cluster.kind.cluster import KindCluster
from e2e.cluster.kind.daemon import Daemon
from e2e.cluster.kind.engine import UnusableError
from e2e.cluster.node import claim, containerd
from e2e.cluster.node.layout import Layout
from e2e.cluster.node.removal import remove_node
from e2e.cluster.node.start import is_ready, prepare_machine, repair_node, start_node
from e2e.cluster.processes import Processes, kill_strays, strays
from e2e.cluster.state import StateDir
from e2e.cluster.steps import step

ANSWER_SECONDS = 20.0
CHOICE = "RUKPAK_CLUSTER_PROVIDER"
PROVIDERS = ("built", "kind")


def up(path: Path, *, node: bool, audit: bool = False) -> StateDir:
    state = StateDir(path)
    state.refuse_strangers()
    _provider()
    with state.locked():
        if not _keep_running(state, node=node):
            _create(state, node=node, audit=audit)
        if audit and not state.read().get("audit"):
            raise ClusterError(f"the cluster in {state.path} has no audit log: run `down` first, then `up --audit`")
    return state


def down(path: Path) -> bool:
    """Take the cluster down; False when there was none."""
    state = StateDir(path)
    if not state.exists and not _has_leftovers(state):
        return False
    with state.locked():
        _remove(state)
    return True


def load_image(path: Path, archive: Path) -> list[str]:
    """Give the names of the images that the cluster has now."""
    state = StateDir(path)
    record = state.read()
    match record.get("provider"), record.get("node"):
        case "built", True:
            return containerd.import_archive(Layout(state), archive)
        case "kind", _:
            kind.load_image(state, KindCluster.read(record), archive)
            return names_in(archive)
        case "built", _:
            raise ClusterError("this cluster has no node that could run images: `down`, then `up --node`")
        case "kubeconfig", _:
            return foreign.expected_images(archive)
        case _:
            raise ClusterError(f"there is no cluster in {state.path}: `python -m e2e.cluster up --node` makes one")


def is_foreign(path: Path) -> bool:
    """Whether the cluster was brought up by other means, which also take it down."""
    return StateDir(path).read().get("provider") == "kubeconfig"


def has_node(path: Path) -> bool:
    return bool(StateDir(path).read().get("node"))


def host_address(path: Path) -> str:
    """Where the API server of this cluster reaches programs of this machine."""
    state = StateDir(path)
    record = state.read()
    match record.get("provider"):
        case "built":
            return address.LOOPBACK
        case "kind" if ours := KindCluster.read(record).host_address:
            return ours
        case _:
            return address.facing(state.kubeconfig)


def problems(state: StateDir) -> list[str]:
    """Say what is wrong with a cluster that should run; nothing when it is healthy."""
    record = state.read()
    if record.get("provider") != "built":
        return [] if _answers(state.kubeconfig) else ["its API server does not answer"]
    plane = ControlPlane(state)
    found = [f"{name} does not run" for name in plane.processes.names if not plane.processes.is_alive(name)]
    if not state.kubeconfig.exists():
        found.append("it was never ready: an earlier `up` was interrupted")
    if not plane.api.found("/readyz"):
        found.append(f"{plane.url} is not ready")
    elif record["node"] and not is_ready(plane.api):
        found.append("the node is not ready")
    return found


def _keep_running(state: StateDir, *, node: bool) -> bool:
    """Find a cluster that runs or can be repaired; remove what is left of one that cannot."""
    if not state.exists:
        if _has_leftovers(state):
            with step("removing what an earlier cluster left"):
                _remove(state, keep={"lock"})
        return False
    record = state.read()
    if _provider() not in {"", record["provider"]}:
        raise ClusterError(f"the cluster in {state.path} is {record['provider']}, not {_provider()}: run `down` first")
    if not _provider() and foreign.is_wanted() != (record["provider"] == "kubeconfig"):
        switch = f"{foreign.SWITCH} is {'1' if foreign.is_wanted() else 'not set'}"
        raise ClusterError(
            f"the cluster in {state.path} is {record['provider']}, and {switch}: "
            "run `down` first, or use another state directory"
        )
    if node and not record["node"]:
        raise ClusterError(f"the cluster in {state.path} has no node: run `down` first, then `up --node`")
    wrong = problems(state)
    if not wrong:
        print(f"the cluster in {state.path} is running")
        print(f"to take it down: python -m e2e.cluster down --state {state.path}")
        return True
    print(f"the cluster in {state.path}: {', '.join(wrong)}")
    if record["provider"] == "built" and state.kubeconfig.exists() and ControlPlane(state).pids:
        _repair(state, node=record["node"])
        return True
    with step("removing what is left of it"):
        _remove(state, keep={"lock"})
    return False


def _repair(state: StateDir, *, node: bool) -> None:
    plane = ControlPlane(state)
    with step("starting again what does not run"):
        try:
            names = [*plane.repair(), *(repair_node(plane) if node else [])]
        except ClusterError as error:
            raise ClusterError(f"{error}\nThe cluster cannot be repaired: run `down`, then `up`") from error
    print(f"started again: {', '.join(names) or 'nothing, it only needed time'}")


def _create(state: StateDir, *, node: bool, audit: bool) -> None:
    state.claim()
    try:
        match _provider():
            case "kind":
                _create_kind(state)
            case "built":
                _create_built(state, node=node, audit=audit)
            case _ if foreign.is_wanted():
                _adopt(state, node=node)
            case _ if audit or not _created_usable_kind(state):
                _create_built(state, node=node, audit=audit)
    except BaseException as error:
        # What failed is explained by the logs; what was interrupted leaves nothing.
        try:
            _remove(state, keep={"logs"} if isinstance(error, ClusterError) else ())
        except ClusterError as left:
            raise ClusterError(f"{error or 'interrupted'}\nWhat was made could not be removed: {left}") from error
        raise


def _adopt(state: StateDir, *, node: bool) -> None:
    has_node = foreign.has_node()
    if node and not has_node:
        raise ClusterError("the cluster of KUBECONFIG has no node")
    state.write({"provider": "kubeconfig", "node": has_node})
    foreign.adopt(state)


def _create_kind(state: StateDir) -> None:
    try:
        kind.create(state)
    except UnusableError as error:
        raise ClusterError(str(error)) from error


def _created_usable_kind(state: StateDir) -> bool:
    try:
        kind.create_if_usable(state)
    except UnusableError as reason:
        print(f"not with kind: {reason}")
        _remove(state, keep={"lock", "logs"})
        state.claim()
        return False
    return True


def _create_built(state: StateDir, *, node: bool, audit: bool) -> None:
    record = {"provider": "built", "node": node}
    if not node:
        binaries.ensure(binaries.CONTROL_PLANE)
        with step("starting the control plane"):
            ControlPlane.start(state.path, record=record, audit=audit)
        return
    _remove_abandoned_node(state)
    with step("preparing this machine for a node"):
        network = prepare_machine(state)
    with step("starting the control plane"):
        plane = ControlPlane.start(state.path, network=network, record=record, audit=audit)
    with step("starting the node"):
        start_node(plane)


def _remove_abandoned_node(state: StateDir) -> None:
    """Remove the node of another state directory whose programs have all ended: no other command will."""
    holder = claim.current_holder()
    if holder is None or holder == state.path or strays(holder):
        return
    abandoned = StateDir(holder)
    abandoned.refuse_strangers()  # the folder may have another use by now
    with abandoned.locked():  # an `up` that has not started a program yet holds it
        if claim.holds(holder) and not strays(holder):
            with step(f"removing the node of the cluster in {holder}, whose programs have ended"):
                _remove(abandoned)


def _remove(state: StateDir, *, keep: tuple[str, ...] | set[str] = ()) -> None:
    record = state.read()
    if record.get("provider") == "kind":
        kind.remove(state, KindCluster.read(record))
    processes = Processes(record=state.processes, logs=state.logs)
    if Daemon(state).has_parts:  # the record of its cluster is gone
        Daemon(state).stop(processes)
    if _has_node_parts(state):
        remove_node(state, processes)
    processes.kill_all()
    kill_strays(state.path)
    state.remove(keep=keep)


def _provider() -> str:
    chosen = os.environ.get(CHOICE, "")
    if chosen and chosen not in PROVIDERS:
        raise ClusterError(f"{CHOICE} is {chosen!r}: it may be {' or '.join(PROVIDERS)}")
    return chosen


def _has_leftovers(state: StateDir) -> bool:
    return _has_node_parts(state) or Daemon(state).has_parts or bool(strays(state.path))


def _has_node_parts(state: StateDir) -> bool:
    return claim.holds(state.path) or state.node.exists() or Layout(state).has_bridge


def _answers(kubeconfig: Path) -> bool:
    command = [str(binaries.path("kubectl")), f"--kubeconfig={kubeconfig}", "get", "--raw=/readyz"]
    try:
        return subprocess.run(command, check=False, capture_output=True, timeout=ANSWER_SECONDS).returncode == 0
    except subprocess.TimeoutExpired:
        return False

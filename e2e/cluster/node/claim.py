"""One node per network namespace: who has it, and who else may be using iptables here."""

from pathlib import Path

from e2e.cluster.errors import ClusterError
from e2e.cluster.files import locked, write_private
from e2e.cluster.machine import RUN, network_namespace
from e2e.cluster.node import iptables


def claim(state: Path) -> None:
    holder_file = _holder_file()
    with locked(holder_file.with_suffix(".lock")):
        holder = current_holder()
        if holder not in {None, state}:
            raise ClusterError(
                f"this machine already has a node, of the cluster in {holder}, and can have one: "
                f"`python -m e2e.cluster down --state {holder}` removes it, or what is left of it"
            )
        if holder != state and any(iptables.strangers_in(iptables.save(family)) for family in iptables.FAMILIES):
            raise ClusterError(
                "another Kubernetes has its chains (KUBE-...) in this machine's iptables, and two would fight: "
                "stop it and remove its rules, or go without --node"
            )
        write_private(holder_file, str(state))


def holds(state: Path) -> bool:
    return current_holder() == state


def current_holder() -> Path | None:
    """The state directory of the cluster whose node this machine has."""
    try:
        return Path(_holder_file().read_text())
    except OSError:
        return None


def release(state: Path) -> None:
    if holds(state):
        _holder_file().unlink()
        _holder_file().with_suffix(".lock").unlink(missing_ok=True)


def _holder_file() -> Path:
    return RUN / f"rukpak-node-{network_namespace()}"

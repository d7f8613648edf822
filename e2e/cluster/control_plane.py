"""One control plane: etcd, API server, controller manager, scheduler, on ports of its own.

    with ControlPlane.start(directory) as plane:
        ...plane.kubeconfig...
        plane.restart_apiserver(signal.SIGKILL)

Ready means: `/readyz` is fine (so RBAC and priority classes are bootstrapped) and the controller manager
has given the namespace `default` its service account. Any number run side by side. Addresses, credentials
and data survive a restart of any component. Nothing survives `stop`.
"""

import signal
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from e2e.cluster import binaries, commands
from e2e.cluster.api import Api
from e2e.cluster.credentials import issue_credentials, issue_user, write_admin_kubeconfig
from e2e.cluster.errors import ClusterError, PortTakenError
from e2e.cluster.network import LOOPBACK, Network
from e2e.cluster.ports import free_ports
from e2e.cluster.processes import Processes, kill_strays
from e2e.cluster.state import StateDir

APISERVER = "kube-apiserver"
COMPONENTS = ("etcd", APISERVER, "kube-controller-manager", "kube-scheduler")
ATTEMPTS = 3
ETCD_SECONDS = 30.0
APISERVER_SECONDS = 90.0
CONTROLLERS_SECONDS = 60.0
# A server that is asked to end lets open watches finish: about 61 s, measured.
GRACEFUL_SECONDS = 120.0


class ControlPlane:
    def __init__(self, state: StateDir) -> None:
        record = state.read()
        self.state = state
        self.network = Network(**record["network"])
        self.ports: Mapping[str, int] = record["ports"]
        self.processes = Processes(record=state.processes, logs=state.logs)

    @classmethod
    def start(
        cls,
        state_dir: Path,
        *,
        network: Network = LOOPBACK,
        record: Mapping[str, Any] | None = None,
        tied_to_caller: bool = False,
        controller_qps: int = commands.CONTROLLER_QPS,
        audit: bool = False,
    ) -> Self:
        """Start a new one in an empty directory; `tied_to_caller` ends it with the thread that called.

        `audit`: with an audit log, which `e2e.cluster.audit` reads.
        """
        binaries.ensure(binaries.CONTROL_PLANE)
        state = StateDir(state_dir)
        for attempt in range(1, ATTEMPTS + 1):
            state.claim()
            ports = free_ports(["etcd", "etcd-peer", APISERVER], network.address)
            state.write({**(record or {}), "network": asdict(network), "ports": ports, "audit": audit})
            plane = cls(state)
            try:
                plane.bring_up(tied_to_caller=tied_to_caller, controller_qps=controller_qps)
            except BaseException as error:  # also an interruption: what was started is ended
                again = isinstance(error, PortTakenError) and attempt < ATTEMPTS
                plane.processes.kill_all()
                kill_strays(state.path)  # one that was started when the interruption came, and is in no record
                logs = {"logs"} if isinstance(error, ClusterError) and not again else set()
                state.remove(keep={"node", "lock", *logs})
                if not again:
                    raise
            else:
                return plane
        raise AssertionError("the last attempt returns or raises")

    @property
    def url(self) -> str:
        return f"https://{self.network.address}:{self.ports[APISERVER]}"

    @property
    def kubeconfig(self) -> Path:
        """The admin's (group `system:masters`, which is exempt from priority and fairness)."""
        return self.state.kubeconfig

    @property
    def pids(self) -> dict[str, int]:
        return self.processes.pids

    @property
    def api(self) -> Api:
        return Api(address=self.network.address, port=self.ports[APISERVER], pki=self.state.pki)

    def user_kubeconfig(self, user: str, groups: Sequence[str] = ()) -> Path:
        """Write a kubeconfig for a user who has only the rights that RBAC gives."""
        return issue_user(self.state, server=self.url, user=user, groups=groups)

    def bring_up(self, *, tied_to_caller: bool = False, controller_qps: int = commands.CONTROLLER_QPS) -> None:
        pki = self.state.pki
        issue_credentials(self.state, self.network, server=self.url)
        audits = self.state.read()["audit"]
        lines = {
            "etcd": commands.etcd(pki, self.state.etcd, self.ports),
            APISERVER: commands.apiserver(pki, self.network, self.ports, self.state.audit_log if audits else None),
            "kube-controller-manager": commands.controller_manager(pki, self.network, controller_qps),
            "kube-scheduler": commands.scheduler(pki),
        }
        for name, line in lines.items():
            self.processes.start(name, line, tied_to_caller=tied_to_caller)
            self._wait_for(name)
        self._wait_for_controllers()
        write_admin_kubeconfig(self.state, server=self.url)

    def repair(self) -> list[str]:
        """Start what does not run, in order, and say what that was."""
        dead = [name for name in COMPONENTS if not self.processes.is_alive(name)]
        for name in dead:
            self.processes.start_again(name)
            self._wait_for(name)
        self._wait_for(APISERVER)
        self._wait_for_controllers()
        return dead

    def restart_apiserver(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.stop_apiserver(number)
        self.start_apiserver()

    def stop_apiserver(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.processes.stop(APISERVER, number, seconds=GRACEFUL_SECONDS)

    def start_apiserver(self, line: Sequence[str] = ()) -> None:
        """`line`: another command line than before."""
        self.processes.start(APISERVER, line or self.processes.line_of(APISERVER))
        self._wait_for(APISERVER)

    def stop(self) -> None:
        self.processes.kill_all()
        self.state.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _wait_for(self, component: str) -> None:
        match component:
            case "etcd":
                self.processes.wait_until("listening", self._etcd_listens, component=component, seconds=ETCD_SECONDS)
            case "kube-apiserver":
                api = self.api
                self.processes.wait_until(
                    "ready", lambda: api.found("/readyz"), component=component, seconds=APISERVER_SECONDS
                )
            case _:
                pass  # judged by what they do: see _wait_for_controllers

    def _wait_for_controllers(self) -> None:
        api = self.api
        for path in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
            self.processes.wait_until(
                f"done with {path}",
                lambda path=path: api.found(f"/api/v1/namespaces/default/{path}"),  # type: ignore[misc]  # bound now
                component="kube-controller-manager",
                seconds=CONTROLLERS_SECONDS,
            )

    def _etcd_listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.ports["etcd"]), timeout=1).close()
        except OSError:
            return False
        return True

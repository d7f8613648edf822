"""A control plane of its own for each measurement, so that nothing measured carries what another one left."""

import contextlib
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson

from bench.workload import NAMESPACE, SYSTEM, WORKLOADS, application
from e2e.cluster import binaries
from e2e.cluster.control_plane import ControlPlane
from e2e.waiting import eventually

ROOT = Path(__file__).resolve().parents[1]
# The controllers' own limit would set the pace: a Deployment is healthy once its controller has looked at it.
CONTROLLER_QPS = 2000
CONTROLLERS = "kube-controller-manager"


@contextlib.contextmanager
def fresh_plane() -> Iterator[ControlPlane]:
    """Without a node; our CRDs and the namespaces are there, and its controllers work."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        ControlPlane.start(Path(folder) / "plane", tied_to_caller=True, controller_qps=CONTROLLER_QPS) as plane,
    ):
        kubectl(plane, "apply", "--server-side", f"--filename={ROOT / 'config/crds'}")
        # The garbage collector looks for new kinds every 30 s; one that starts after them knows them at once.
        plane.processes.stop(CONTROLLERS, signal.SIGKILL)
        plane.processes.start_again(CONTROLLERS)
        for name in (SYSTEM, NAMESPACE):
            kubectl(plane, "create", "namespace", name)
        _wait_for_controllers(plane)
        yield plane


def kubectl(plane: ControlPlane, *arguments: str, stdin: bytes | None = None) -> str:
    command = [str(binaries.path("kubectl")), f"--kubeconfig={plane.kubeconfig}", *arguments]
    return subprocess.run(command, check=True, input=stdin, stdout=subprocess.PIPE).stdout.decode()


def _wait_for_controllers(plane: ControlPlane) -> None:
    workload = next(manifest for resource, manifest in application("probe") if resource is WORKLOADS)
    kubectl(plane, "create", "--filename=-", stdin=orjson.dumps(workload))

    def is_observed() -> bool:
        path = "jsonpath={.status.observedGeneration}"
        return kubectl(plane, "get", "deployment", "probe", f"--namespace={NAMESPACE}", f"--output={path}") == "1"

    eventually(is_observed, what="the controllers work", seconds=60)
    kubectl(plane, "delete", "deployment", "probe", f"--namespace={NAMESPACE}")

"""`make run`: from nothing to two samples that are Ready, with the time of each step.

The operator runs as a process beside a local cluster. As root on Linux that cluster has a node, and the second sample's
pod really runs. RUN_ONCE=1 removes the samples again and stops; otherwise the operator's log is followed until Ctrl-C.
Whatever was started is taken down; a cluster that was up before stays.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from e2e import local_operator, sample_image
from e2e.cluster import lifecycle
from e2e.cluster.machine import is_root_on_linux
from e2e.kubectl import Kubectl, KubectlError
from e2e.release import WEBHOOKS
from e2e.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "manifests/samples"
NAMESPACE = "rukpak-system"
LOG_LINES = 40


def state_dir() -> Path:
    return Path(os.environ.get("RUKPAK_CLUSTER_STATE") or ROOT / ".cluster")


def cluster(*arguments: str, check: bool = True) -> int:
    command = [sys.executable, "-m", "e2e.cluster", *arguments, f"--state={state_dir()}"]
    quiet = subprocess.DEVNULL if arguments == ("status",) else None
    # `down` is out of Ctrl-C's reach; `up` has it too, and cleans up after itself.
    apart = arguments == ("down",)
    done = subprocess.run(command, cwd=ROOT, check=check, stdout=quiet, stderr=quiet, start_new_session=apart)
    return done.returncode


@contextlib.contextmanager
def local_cluster(steps: Steps, *, was_up: bool) -> Iterator[Kubectl]:
    try:
        with steps.step("cluster up"):
            cluster("up", *(["--node"] if is_root_on_linux() else []))
        yield Kubectl.on(state_dir() / "kubeconfig")
    finally:
        interrupts(signal.SIG_IGN)  # a second Ctrl-C must not leave half of it behind
        if not was_up:
            with steps.step("cluster down"):
                cluster("down")


def install_crds(kubectl: Kubectl) -> None:
    kubectl.run("apply", "--server-side", "-f", str(ROOT / "config/crds"))
    kubectl.run("wait", "--for=condition=Established", "--timeout=30s", "-f", str(ROOT / "config/crds"))
    manifest = kubectl.run("create", "namespace", NAMESPACE, "--dry-run=client", "--output=yaml")
    kubectl.run("apply", "--server-side", "-f", "-", stdin=manifest)


def load_sample_image(folder: Path) -> None:
    archive = sample_image.write(folder / "sample.tar")
    cluster("load-image", str(archive))


def show(kubectl: Kubectl, *arguments: str) -> None:
    print(f"\n$ kubectl {' '.join(arguments)}\n{kubectl.run(*arguments)}\n", flush=True)


def bring_to_ready(kubectl: Kubectl, steps: Steps, sample: str, *, show_also: tuple[str, ...]) -> None:
    with steps.step(f"sample {sample}: kubectl apply to Ready"):
        kubectl.run("apply", "--server-side", "-f", str(SAMPLES / f"{sample}.yaml"))
        kubectl.wait_ready(sample)
    show(kubectl, "get", "rukpak")
    show(kubectl, *show_also)


def remove(kubectl: Kubectl, sample: str) -> None:
    """The deployment first: a ConfigMap that a Bundle uses cannot be deleted."""
    owned = f"core.rukpak.io/owner-name={sample}"
    kubectl.run("delete", f"bundledeployment/{sample}", "--timeout=60s")
    kubectl.run("wait", "--for=delete", "bundles", f"--selector={owned}", "--timeout=60s")
    kubectl.run("--namespace", NAMESPACE, "delete", f"configmap/{sample}-v1", "--timeout=60s")
    kubectl.run("wait", "--for=delete", "configmaps,deployments", f"--selector={owned}", "--timeout=60s")


@contextlib.contextmanager
def explained(kubectl: Kubectl, log: Path) -> Iterator[None]:
    """A sample that does not get ready is shown with its conditions and the operator's log."""
    try:
        yield
    except KubectlError:
        show(kubectl, "get", "rukpak", "--output=wide")
        print("\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES:]), flush=True)
        raise


def follow_until_interrupted(kubectl: Kubectl, log: Path) -> None:
    print(f"The operator runs. In another terminal:\n\n  export KUBECONFIG={kubectl.kubeconfig}")
    print(f"  alias kubectl={kubectl.program}\n  kubectl get rukpak\n\nIts log follows; Ctrl-C takes all of it down.\n")
    sys.stdout.flush()
    local_operator.follow(log)


def tour(kubectl: Kubectl, steps: Steps, folder: Path, *, cluster_stays: bool) -> None:
    """Operator and samples, on a cluster that is up."""
    once = bool(os.environ.get("RUN_ONCE"))
    with steps.step("CRDs and namespace"):
        install_crds(kubectl)
    greeting = "--output=jsonpath={.data.greeting}"
    samples: dict[str, tuple[str, ...]] = {"hello": ("get", "configmap", "hello", greeting)}
    if lifecycle.has_node(state_dir()):
        with steps.step("image of the sample"):
            load_sample_image(folder)
        samples["sleeper"] = ("get", "pods")
    with contextlib.ExitStack() as stack:
        with steps.step("operator ready"):
            running = local_operator.running(kubeconfig=kubectl.kubeconfig, folder=folder)
            log = stack.enter_context(running).log
        with explained(kubectl, log):
            for sample, show_also in samples.items():
                bring_to_ready(kubectl, steps, sample, show_also=show_also)
        if not once:
            follow_until_interrupted(kubectl, log)
        if not once and not cluster_stays:
            return  # they go with the cluster
        with steps.step("samples removed"):
            for sample in samples:
                remove(kubectl, sample)
    if cluster_stays:
        # It names a port of this machine where nobody listens any more.
        kubectl.run("delete", "validatingwebhookconfiguration", WEBHOOKS)


def interrupts(action: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell starts background jobs with SIGINT ignored
        signal.signal(number, action)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> int:
    interrupts(_interrupt)
    steps = Steps()
    try:
        was_up = cluster("status", check=False) == 0
        with local_cluster(steps, was_up=was_up) as kubectl, tempfile.TemporaryDirectory() as folder:
            tour(kubectl, steps, Path(folder), cluster_stays=was_up)
    except KeyboardInterrupt:
        return 130
    except (local_operator.OperatorError, KubectlError, TimeoutError, subprocess.CalledProcessError) as error:
        print(f"make run: {error}", file=sys.stderr)
        return 1
    finally:
        print(f"\nWhat took how long:\n{steps.table()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

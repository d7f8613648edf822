"""`make run`: from nothing to samples of every source that are Ready, with the time of each step.

The operator runs as a process beside a local cluster, and so do the servers that the samples take their content from.
As root on Linux that cluster has a node, and the pods of the last samples really run. RUN_ONCE=1 removes the samples
again and stops; otherwise the operator's log is followed until Ctrl-C. Whatever was started is taken down, however it
ends. A cluster that was up before stays, and so does the one of RUKPAK_USE_KUBECONFIG; the samples and the webhook go.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from e2e import local_operator, sample_sources
from e2e.cluster import foreign, lifecycle
from e2e.cluster.errors import ClusterError
from e2e.cluster.machine import is_root_on_linux
from e2e.kubectl import Kubectl, KubectlError
from e2e.release import WEBHOOKS
from e2e.webhook_operator import image as webhook_image
from rukpak_py.api.policies.installation import Installation
from tools import chart, sample_image
from tools.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "manifests/samples"
FROM_CONFIG_MAPS = ("hello", "hello-chart")
AS_ACCOUNT = "hello-account"
FROM_SERVERS = ("hello-image", "hello-git", "hello-http")
LOOPBACK = "127.0.0.1"  # where the servers of the samples listen, beside the operator
OPERATOR = "core"  # the Deployment of the chart and of install.yaml
LOG_LINES = 40
FAILURES = (
    ClusterError,
    KubectlError,
    TimeoutError,
    local_operator.OperatorError,
)  # whose text says enough
BROKEN_PIPE = 141  # as a shell says that SIGPIPE ended it


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
def alone() -> Iterator[None]:
    """The operator of another `make run` would write the same objects, and take the cluster down."""
    lock = Path(f"{state_dir()}.run.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ClusterError(
                f"another make run uses the cluster in {state_dir()}: end it first, or use another RUKPAK_CLUSTER_STATE"
            ) from error
        yield


@contextlib.contextmanager
def local_cluster(steps: Steps, *, was_up: bool) -> Iterator[Kubectl]:
    try:
        with steps.step("cluster up"):
            cluster("up", *(["--node"] if is_root_on_linux() else []))
        yield Kubectl.on(state_dir() / "kubeconfig")
    finally:
        must_succeed()
        if not was_up:
            with steps.step("leaving the cluster of KUBECONFIG" if foreign.is_wanted() else "cluster down"):
                cluster("down")


def refuse_second_operator(kubectl: Kubectl) -> None:
    """It would wait for the Lease of the first for ever, and take its webhook away."""
    if kubectl.run("get", "deployment", OPERATOR, f"--namespace={chart.NAMESPACE}", "--ignore-not-found"):
        raise ClusterError(
            f"an operator is installed in this cluster: helm uninstall rukpak -n {chart.NAMESPACE} "
            "(or kubectl delete -f manifests/install.yaml) first, or use another RUKPAK_CLUSTER_STATE"
        )


def install_crds(kubectl: Kubectl) -> None:
    kubectl.run("apply", "--server-side", "-f", str(ROOT / "config/crds"))
    kubectl.run("wait", "--for=condition=Established", "--timeout=30s", "-f", str(ROOT / "config/crds"))
    manifest = kubectl.run("create", "namespace", chart.NAMESPACE, "--dry-run=client", "--output=yaml")
    kubectl.run("apply", "--server-side", "-f", "-", stdin=manifest)


def install_policies(kubectl: Kubectl) -> None:
    """The operator acts as no service account without them."""
    documents = Installation(system_namespace=chart.NAMESPACE).policies()
    manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
    kubectl.run("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifest)


def remove_policies(kubectl: Kubectl) -> None:
    """Bindings first: a policy without one refuses nothing."""
    for document in reversed(Installation(system_namespace=chart.NAMESPACE).policies()):
        kubectl.run("delete", document["kind"], document["metadata"]["name"], "--ignore-not-found")


def load_sample_images() -> None:
    """Load the images from their archives; a foreign cluster has to be given them by hand."""
    folder = ROOT / "build"
    folder.mkdir(exist_ok=True)
    for archive in (sample_image.write(folder / "sample.tar"), webhook_image.write(folder / "gadgets.tar")):
        cluster("load-image", str(archive))


def show(kubectl: Kubectl, *arguments: str) -> None:
    print(f"\n$ kubectl {' '.join(arguments)}\n{kubectl.run(*arguments)}\n", flush=True)


@dataclass(frozen=True, kw_only=True)
class Sample:
    name: str
    manifest: str
    shown: tuple[str, ...]  # what to ask kubectl for, to see what it has installed
    namespace: str = ""  # that its bundle chose: it stays when the deployment goes


def samples(sources: sample_sources.SampleSources, *, with_pods: bool) -> list[Sample]:
    greeting = "--output=jsonpath={.data.greeting}"
    found = []
    for name in FROM_CONFIG_MAPS:
        manifest = (SAMPLES / f"{name}.yaml").read_text(encoding="utf-8")
        found.append(Sample(name=name, manifest=manifest, shown=("get", "configmap", name, greeting)))
    for name in FROM_SERVERS:
        shown = ("get", "configmap", name, greeting)
        found.append(Sample(name=name, manifest=sources.manifest(name), shown=shown))
    manifest = (SAMPLES / f"{AS_ACCOUNT}.yaml").read_text(encoding="utf-8")
    found.append(Sample(name=AS_ACCOUNT, manifest=manifest, shown=("get", "configmap", AS_ACCOUNT, greeting)))
    if with_pods:
        sleeper = (SAMPLES / "sleeper.yaml").read_text(encoding="utf-8")
        found.append(Sample(name="sleeper", manifest=sleeper, shown=("get", "pods")))
        inside = "gadgets-system"
        gadgets = sources.manifest("gadgets")
        pods = ("get", "pods,secrets", f"--namespace={inside}")
        found.append(Sample(name="gadgets", manifest=gadgets, shown=pods, namespace=inside))
    return found


def bring_to_ready(kubectl: Kubectl, steps: Steps, sample: Sample) -> None:
    with steps.step(f"sample {sample.name}: kubectl apply to Ready"):
        kubectl.run("apply", "--server-side", "-f", "-", stdin=sample.manifest)
        kubectl.wait_ready(sample.name)
    show(kubectl, *sample.shown)


def remove(kubectl: Kubectl, sample: Sample) -> None:
    """The deployment first: a ConfigMap that a Bundle uses cannot be deleted."""
    owned = f"core.rukpak.io/owner-name={sample.name}"
    kubectl.run("delete", f"bundledeployment/{sample.name}", "--ignore-not-found", "--timeout=60s")
    kubectl.run("wait", "--for=delete", "bundles", f"--selector={owned}", "--timeout=60s")
    kubectl.run("delete", "--ignore-not-found", "--timeout=60s", "-f", "-", stdin=sample.manifest)
    kubectl.run("wait", "--for=delete", "configmaps,deployments", f"--selector={owned}", "--timeout=60s")
    if sample.namespace:
        kubectl.run("delete", "namespace", sample.namespace, "--ignore-not-found", "--timeout=60s")


@contextlib.contextmanager
def removed_afterwards(kubectl: Kubectl, steps: Steps, brought: list[Sample]) -> Iterator[None]:
    """While the operator runs, which their finalizers need; also when one of them, or Ctrl-C, ended the tour."""
    try:
        yield
    except BaseException:
        try:
            remove_all(kubectl, steps, brought)
        except FAILURES as left:
            print(f"make run: the samples could not be removed: {left}", file=sys.stderr)
        raise
    remove_all(kubectl, steps, brought)


def remove_all(kubectl: Kubectl, steps: Steps, brought: list[Sample]) -> None:
    must_succeed()
    with steps.step("samples removed"):
        for sample in brought:
            remove(kubectl, sample)


@contextlib.contextmanager
def explained(kubectl: Kubectl, log: Path) -> Iterator[None]:
    """Show conditions and the operator's log when a sample or the operator does not get ready."""
    try:
        yield
    except (KubectlError, TimeoutError):
        show(kubectl, "get", "rukpak", "--output=wide")
        show(kubectl, "get", "pods", "--all-namespaces")
        show(kubectl, "get", "events", "--all-namespaces", "--field-selector=type=Warning")
        print("\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES:]), flush=True)
        raise


def follow_until_interrupted(kubectl: Kubectl, log: Path) -> None:
    print(f"The operator runs. In another terminal:\n\n  export KUBECONFIG={kubectl.kubeconfig}")
    print(f"  alias kubectl={kubectl.program}\n  kubectl get rukpak\n")
    print("Its log follows; Ctrl-C ends it, and removes what it made.\n")
    sys.stdout.flush()
    local_operator.follow(log)


def tour(kubectl: Kubectl, steps: Steps, folder: Path, *, stays: bool) -> None:
    """Operator and samples, on a cluster that is up."""
    once = bool(os.environ.get("RUN_ONCE"))
    refuse_second_operator(kubectl)
    with steps.step("CRDs and namespace"):
        install_crds(kubectl)
    with steps.step("admission policies"):
        install_policies(kubectl)
    with_pods = lifecycle.has_node(state_dir())
    if with_pods:
        with steps.step("images of the samples"):
            load_sample_images()
    with steps.step("helm, for the chart"):
        helm = chart.helm()
    with contextlib.ExitStack() as stack:
        with steps.step("registry, git and web server of the samples"):
            sources = stack.enter_context(sample_sources.serving(folder, host=LOOPBACK))
        running = local_operator.running(
            kubeconfig=kubectl.kubeconfig,
            folder=folder,
            source_addresses=f"{LOOPBACK}/32",
            flags=[
                "--image-unpack=direct",  # the node does not have the operator's image, with the tool for pods
                f"--helm={helm}",
            ],
        )
        log, brought = local_operator.log_in(folder), list[Sample]()
        if stays:
            # It names a port of this machine that is closed by now.
            stack.callback(kubectl.run, "delete", "validatingwebhookconfiguration", WEBHOOKS, "--ignore-not-found")
            stack.callback(remove_policies, kubectl)
        with explained(kubectl, log):
            with steps.step("operator ready"):
                stack.enter_context(running)
            if stays or once:  # else they go with the cluster
                stack.enter_context(removed_afterwards(kubectl, steps, brought))
            for sample in samples(sources, with_pods=with_pods):
                brought.append(sample)
                bring_to_ready(kubectl, steps, sample)
            show(kubectl, "get", "rukpak")
        if not once:
            follow_until_interrupted(kubectl, log)


def interrupts(action: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell starts background jobs with SIGINT ignored
        signal.signal(number, action)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup has said so
        signal.signal(signal.SIGHUP, action)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    if number == signal.SIGHUP:
        silence(sys.stdout, sys.stderr)  # the terminal is gone
    raise KeyboardInterrupt


def must_succeed() -> None:
    """Shield the clean-up: a second Ctrl-C, or a pipe without a reader, must not leave half of it undone."""
    interrupts(signal.SIG_IGN)
    reader = select.poll()
    reader.register(sys.stdout, 0)
    if reader.poll(0):  # an error: nothing else was asked for
        silence(sys.stdout)


def silence(*streams: TextIO) -> None:
    """Send the streams nowhere: their reader is gone, and the remaining work must not fail for that."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        os.dup2(nowhere, stream.fileno())


def main() -> int:
    interrupts(_interrupt)
    steps = Steps()
    try:
        with alone():
            was_up = cluster("status", check=False) == 0
            stays = was_up or foreign.is_wanted()
            with local_cluster(steps, was_up=was_up) as kubectl, tempfile.TemporaryDirectory() as folder:
                tour(kubectl, steps, Path(folder), stays=stays)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `| head` has seen enough
        return BROKEN_PIPE
    except subprocess.CalledProcessError as error:  # which has said why
        print(f"make run: {' '.join(map(str, error.cmd[1:]))} failed", file=sys.stderr)
        return 1
    except FAILURES as error:
        print(f"make run: {error}", file=sys.stderr)
        return 1
    finally:
        if steps.finished:
            print(f"\nWhat took how long:\n{steps.table()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

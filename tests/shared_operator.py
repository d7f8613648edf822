"""The operator of a test run: one process on the shared cluster, for all tests and all workers.

The first test that needs it starts its keeper, a process that installs the CRDs and the admission policies, runs the
operator beside the cluster, and ends it together with the run, however the run ends. What is left over goes first,
while the operator can still see to it. A traceback in the log fails the run: no test may cause one, and none is looked
for one test at a time.
"""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e import local_operator
from e2e.cluster import binaries
from e2e.cluster.errors import ClusterError
from e2e.cluster.files import locked, write_private
from e2e.kubectl import Kubectl, KubectlError
from e2e.waiting import eventually
from rukpak_py.api.names import DEFAULT_SYSTEM_NAMESPACE, WEBHOOK_CONFIGURATION
from rukpak_py.api.policies.installation import Installation
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from tests.cluster import SHARED, end_keeper, start_keeper, until_the_end
from tests.integration.definitions import definitions, install
from tests.integration.policies import install_policies

FOLDER = "operator"
RECORD = "operator.json"
LOG = "operator.log"
END_SECONDS = 90.0
FLAGS = (
    "--image-unpack=direct",
)  # what a registry refuses is told, with and without a node; pods have their own tests
SHOWN_LINES = 20
LOOPBACK = "127.0.0.0/8,::1"  # where tests start their web and git servers
INSTALLATION = Installation(system_namespace=DEFAULT_SYSTEM_NAMESPACE)
OURS = ("bundleinstances.core.rukpak.io", "bundledeployments.core.rukpak.io", "bundles.core.rukpak.io")
TRACES = ("Traceback (most recent call last)", "this is a bug", "was never retrieved", "was never awaited")
PROBE = """
apiVersion: core.rukpak.io/v1alpha1
kind: Bundle
metadata: {name: probe}
spec:
  provisionerClassName: nobody-serves-this-class
  source: {type: configMaps, configMaps: [{path: ../outside, configMap: {name: probe}}]}
"""


@dataclass(frozen=True, kw_only=True)
class SharedOperator:
    log: Path
    storage: Path
    uploads: Path
    content: str  # URL


@pytest.fixture(scope="session")
def shared_operator(run_directory: Path, kubeconfig: Path) -> SharedOperator:
    """Running, its webhook in place."""
    folder, record = run_directory / FOLDER, run_directory / RECORD
    with locked(run_directory / "operator.lock"):
        if not record.exists():
            log = run_directory / "operator-keeper.log"
            start_keeper(
                log, record, "tests.shared_operator", str(run_directory), str(kubeconfig), what="the shared operator"
            )
    content = json.loads(record.read_text())["content"]
    return SharedOperator(log=folder / LOG, storage=folder / "bundles", uploads=folder / "uploads", content=content)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """All tests are done: the log has the last word."""
    if not hasattr(session.config, "workerinput") and traces(_log()):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    log = _log()
    if not log:
        return
    found = traces(log)
    terminalreporter.line(f"the operator's log: {len(log)} lines, {len(found)} of them tell of a bug of its own")
    shown = [line for at in found[:5] for line in log[max(0, at - 2) : at + SHOWN_LINES]]
    if exitstatus and not found:
        shown = log[-SHOWN_LINES:]
    for line in shown:
        terminalreporter.line(line[:300])


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Before the cluster's keeper goes."""
    record = Path(os.environ.get("RUKPAK_TEST_RUN", "")) / RECORD
    if hasattr(config, "workerinput") or not record.is_file():
        return
    end_keeper(record, seconds=END_SECONDS)


def traces(log: list[str]) -> list[int]:
    """The numbers of the lines that no user may ever cause."""
    return [number for number, line in enumerate(log) if any(trace in line for trace in TRACES)]


def _log() -> list[str]:
    path = Path(os.environ.get("RUKPAK_TEST_RUN", "")) / FOLDER / LOG
    return path.read_text(errors="replace").splitlines() if path.is_file() else []


@contextmanager
def operating(kubeconfig: Path, folder: Path) -> Iterator[SharedOperator]:
    """An operator beside a cluster that has nothing of ours yet. In the block its webhook guards."""
    kubectl = Kubectl.on(kubeconfig)
    asyncio.run(_install_kinds(kubeconfig))
    namespace = kubectl.run("create", "namespace", DEFAULT_SYSTEM_NAMESPACE, "--dry-run=client", "--output=yaml")
    kubectl.run("apply", "--server-side", "--filename=-", stdin=namespace)
    folder.mkdir(exist_ok=True)
    with local_operator.running(
        kubeconfig=kubeconfig, folder=folder, source_addresses=LOOPBACK, flags=(*FLAGS, *_helm())
    ) as operator:
        eventually(lambda: _is_guarded(kubectl), what="the webhook is called", seconds=30)
        yield SharedOperator(
            log=operator.log, storage=folder / "bundles", uploads=folder / "uploads", content=operator.content
        )


def _helm() -> list[str]:
    try:
        return [f"--helm={binaries.path('helm')}"]
    except ClusterError:  # no Go on this machine: tests of charts are skipped
        return []


async def _install_kinds(kubeconfig: Path) -> None:
    """Our definitions, and the policies that guard the identities of deployments with an account."""
    async with Client(await load_connection(kubeconfig)) as client:
        await install(client, definitions())
        await install_policies(client, INSTALLATION)


def _is_guarded(kubectl: Kubectl) -> bool:
    """A changed configuration reaches the API server's own cache in its own time."""
    try:
        kubectl.run("create", "--dry-run=server", "--filename=-", stdin=PROBE)
    except KubectlError as refused:
        return "is outside bundle root" in str(refused)
    return False


def _clear(kubectl: Kubectl) -> None:
    """For a cluster that is used again: nothing is left that the operator would have to see to."""
    for kind in OURS:
        _try(kubectl, "delete", kind, "--all", "--timeout=30s")


def _clear_after(kubectl: Kubectl) -> None:
    """The rest, which must not outlive the operator: its webhook would refuse every Bundle."""
    _try(kubectl, "delete", "validatingwebhookconfiguration", WEBHOOK_CONFIGURATION, "--ignore-not-found")
    for one in INSTALLATION.policies():
        _try(kubectl, "delete", one["kind"].lower(), one["metadata"]["name"], "--ignore-not-found")
    _try(kubectl, "delete", "namespace", DEFAULT_SYSTEM_NAMESPACE, "--ignore-not-found", "--timeout=45s")


def _try(kubectl: Kubectl, *arguments: str) -> None:
    try:
        kubectl.run(*arguments)
    except KubectlError as error:
        print(error, file=sys.stderr)  # noqa: T201 - the keeper's log


def keep(directory: Path, kubeconfig: Path) -> None:
    """Run the operator until SIGTERM, or until the run is gone."""
    wait_for_end = until_the_end()
    is_used_again = SHARED in os.environ
    kubectl = Kubectl.on(kubeconfig)
    with operating(kubeconfig, directory / FOLDER) as operator:
        write_private(directory / RECORD, json.dumps({"keeper": os.getpid(), "content": operator.content}))
        wait_for_end()
        if is_used_again:
            _clear(kubectl)
    if is_used_again:
        _clear_after(kubectl)


if __name__ == "__main__":
    keep(Path(sys.argv[1]), Path(sys.argv[2]))

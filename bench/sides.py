"""The three ways to bring the same objects into a fresh cluster: our operator, kubectl, and our client alone."""

import asyncio
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from bench import bare_client, drift, operator_metrics
from bench.bare_client import Recipe
from bench.operator_metrics import Requests
from bench.process_tree import PeakMemory, children_cpu_seconds, cpu_seconds
from bench.readiness import Readiness
from bench.workload import NAMESPACE, OBJECTS_EACH, SYSTEM, application, bundle_deployment, content
from e2e.cluster import binaries
from e2e.cluster.control_plane import APISERVER, ControlPlane
from e2e.local_operator import LocalOperator, running
from rukpak_py.api.policies.installation import Installation
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS
from tests.integration.policies import install_policies
from tests.integration.tenancy.accounts import EVERYTHING, create_account

SECONDS_EACH = 1.0  # patience per deployment ...
SECONDS_AT_LEAST = 60.0


@dataclass(frozen=True, kw_only=True)
class Measurement:
    seconds: float
    cpu: float  # of the client; for our operator with its children
    apiserver_cpu: float


@dataclass(frozen=True, kw_only=True)
class AtRest:
    seconds: float
    requests: Requests
    cpu: float


@dataclass(frozen=True, kw_only=True)
class OperatorMeasurement(Measurement):
    requests: Requests
    reconciles: Counter[str]
    dropped_events: dict[str, int]
    peak_pss: int
    at_rest: AtRest
    drift: list[float]
    loop_lag: str


def names(count: int) -> list[str]:
    return [f"app-{number:05d}" for number in range(count)]


async def publish(client: Client, wanted: Sequence[str], *, replicas: int = 0) -> None:
    """The content of each deployment, in a ConfigMap of its name."""
    bodies = (_content(name, replicas) for name in wanted)
    await asyncio.gather(*(client.create(CONFIG_MAPS, SYSTEM, body) for body in bodies))


async def create_deployments(client: Client, wanted: Sequence[str], *, account: str = "") -> dict[str, str]:
    """Their uids by name."""
    bodies = [bundle_deployment(name, account=account) for name in wanted]
    made = await asyncio.gather(*(client.create(BUNDLE_DEPLOYMENTS, "", body, field_manager="user") for body in bodies))
    return {live.metadata.name: live.metadata.uid for live in made}


async def by_operator(
    plane: ControlPlane, count: int, *, rest: float, edits: int, impersonates: bool = False
) -> OperatorMeasurement:
    """`impersonates`: each deployment names an account, which may do everything in its namespace."""
    wanted = names(count)
    with tempfile.TemporaryDirectory(prefix="bench-operator-") as folder:
        async with Client(await load_connection(plane.kubeconfig)) as client:
            await publish(client, wanted)
            account = await _make_account(client) if impersonates else ""
            with running(kubeconfig=plane.kubeconfig, folder=Path(folder)) as operator:
                print(f"  operator: process {operator.pid}", flush=True)
                async with PeakMemory(operator.pid) as memory:
                    return await _measure(
                        plane, operator, client, wanted, account=account, memory=memory, rest=rest, edits=edits
                    )


def by_kubectl(plane: ControlPlane, count: int) -> Measurement:
    items = [manifest for name in names(count) for _, manifest in application(name)]
    body = b"\n---\n".join(orjson.dumps(item) for item in items)
    command = [str(binaries.path("kubectl")), f"--kubeconfig={plane.kubeconfig}"]
    before = cpu_seconds(plane.pids[APISERVER])
    with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
        file.write(body)
        file.flush()
        began, used = time.perf_counter(), children_cpu_seconds()
        subprocess.run(
            [*command, "apply", "--server-side", f"--filename={file.name}"], check=True, stdout=subprocess.DEVNULL
        )
        seconds = time.perf_counter() - began
    return Measurement(
        seconds=seconds, cpu=children_cpu_seconds() - used, apiserver_cpu=cpu_seconds(plane.pids[APISERVER]) - before
    )


async def by_bare_client(plane: ControlPlane, count: int, recipe: Recipe) -> Measurement:
    wanted = names(count)
    async with Client(await load_connection(plane.kubeconfig)) as client:
        await publish(client, wanted)
        uids = await create_deployments(client, wanted)
        before = cpu_seconds(plane.pids[APISERVER])
        began, used = time.perf_counter(), time.process_time()
        await bare_client.send_all(client, uids, recipe)
        return Measurement(
            seconds=time.perf_counter() - began,
            cpu=time.process_time() - used,
            apiserver_cpu=cpu_seconds(plane.pids[APISERVER]) - before,
        )


async def _measure(
    plane: ControlPlane,
    operator: LocalOperator,
    client: Client,
    wanted: Sequence[str],
    *,
    account: str,
    memory: PeakMemory,
    rest: float,
    edits: int,
) -> OperatorMeasurement:
    sent = await operator_metrics.requests_once_quiet(operator)
    used, served = cpu_seconds(operator.pid), cpu_seconds(plane.pids[APISERVER])
    async with Readiness(client) as ready:
        began = time.perf_counter()
        await create_deployments(client, wanted, account=account)
        await ready.wait_for(len(wanted), seconds=max(SECONDS_AT_LEAST, SECONDS_EACH * len(wanted)))
        seconds = max(ready.since.values()) - began
    quiet = await operator_metrics.requests_once_quiet(operator)
    cpu, served_cpu = cpu_seconds(operator.pid) - used, cpu_seconds(plane.pids[APISERVER]) - served
    lag = await operator_metrics.loop_lag(operator)
    reconciled = await operator_metrics.reconciles(operator)
    at_rest = await _at_rest(operator, rest)
    drifted = await drift.seconds_until_corrected(client, wanted[:edits])
    return OperatorMeasurement(
        seconds=seconds,
        cpu=cpu,
        apiserver_cpu=served_cpu,
        requests=quiet - sent,
        reconciles=reconciled,
        dropped_events=await operator_metrics.dropped_events(operator),
        peak_pss=memory.bytes,
        at_rest=at_rest,
        drift=drifted,
        loop_lag=lag,
    )


async def _make_account(client: Client) -> str:
    """An account that may do everything in its namespace, while the admission policies of identities stand guard."""
    await install_policies(client, Installation(system_namespace=SYSTEM))
    account = await create_account(client, NAMESPACE, rules=(EVERYTHING,))
    return account.name


async def _at_rest(operator: LocalOperator, seconds: float) -> AtRest:
    before = await operator_metrics.requests(operator)
    used = cpu_seconds(operator.pid)
    await asyncio.sleep(seconds)
    cpu = cpu_seconds(operator.pid) - used
    return AtRest(seconds=seconds, requests=await operator_metrics.requests(operator) - before, cpu=cpu)


def _content(name: str, replicas: int) -> bytes:
    manifests = [manifest for _, manifest in application(name, replicas=replicas)]
    assert len(manifests) == OBJECTS_EACH
    return content(name, manifests)

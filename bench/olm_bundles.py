"""100 OLM bundles of distinct packages, by our operator and by kubectl: what installing real bundles costs.

Needs the corpus: RUKPAK_CORPUS names its directory. The operator's side is the time from the creation of the first
BundleDeployment until all are Installed, with fetching, converting and checking their content; the archives are on a
web server of this process. kubectl's side is `kubectl apply --server-side` of the same objects, rendered before, in two
passes: Namespaces and CRDs, then, when these are Established, everything else. Kinds that no bundle brings are there
before, as empty CRDs. Without bundles whose webhooks would refuse what others bring, since no pods run. Every side of
every round has a control plane of its own, and the order turns round each time. Usage:

    python bench/olm_bundles.py [N] [--rounds 3] [--side operator|kubectl]...
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import orjson

from bench import operator_metrics
from bench.fresh_plane import fresh_plane, kubectl
from bench.operator_metrics import Requests
from bench.process_tree import PeakMemory, children_cpu_seconds, cpu_seconds
from bench.readiness import Readiness
from bench.report import MIB, print_requests
from e2e.cluster.control_plane import APISERVER, ControlPlane
from e2e.local_operator import running
from rukpak_py.apply.order import is_builtin
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CRDS
from rukpak_py.runtime.loop import Loop
from tests.corpus.installing import Installer
from tests.corpus.place import BUNDLES
from tests.corpus.real_bundles import Document, RealBundle, answer_with_archive, archive, batches, real_bundles
from tests.integration.listing import listed
from tests.integration.operator.tenant import condition
from tests.unit.web_servers import serving
from tests.waiting import eventually

SIDES = ("operator", "kubectl")
BAR = 2.5
LOOPBACK = "127.0.0.0/8"
PATIENCE_SECONDS = 300.0
FIRST = ("Namespace", "CustomResourceDefinition")


@dataclass(frozen=True, kw_only=True)
class Side:
    seconds: float
    cpu: float  # of the client; for our operator with its children
    apiserver_cpu: float
    peak_pss: int = 0
    requests: Requests = field(default_factory=Requests)


async def by_operator(plane: ControlPlane, bundles: Sequence[RealBundle]) -> Side:
    with tempfile.TemporaryDirectory(prefix="bench-operator-") as folder, serving(answer_with_archive) as server:
        async with Client(await load_connection(plane.kubeconfig)) as client:
            await Installer(client, server.address).bring_missing_kinds(bundles)
            for bundle in bundles:
                archive(bundle.path)  # made now, kept for the server
            with running(kubeconfig=plane.kubeconfig, folder=Path(folder), source_addresses=LOOPBACK) as operator:
                print(f"  operator: process {operator.pid}", flush=True)
                sent = await operator_metrics.requests_once_quiet(operator)
                used, served = cpu_seconds(operator.pid), cpu_seconds(plane.pids[APISERVER])
                async with PeakMemory(operator.pid) as memory, Readiness(client, condition="Installed") as installed:
                    began = time.perf_counter()
                    bodies = [orjson.dumps(bundle.body(server.address)) for bundle in bundles]
                    await asyncio.gather(*(client.create(BUNDLE_DEPLOYMENTS, "", body) for body in bodies))
                    await installed.wait_for(len(bundles), seconds=PATIENCE_SECONDS)
                    seconds = max(installed.since.values()) - began
                    quiet = await operator_metrics.requests_once_quiet(operator)
                return Side(
                    seconds=seconds,
                    cpu=cpu_seconds(operator.pid) - used,
                    apiserver_cpu=cpu_seconds(plane.pids[APISERVER]) - served,
                    peak_pss=memory.bytes,
                    requests=operator_metrics.without_lease(quiet - sent),
                )


async def by_kubectl(plane: ControlPlane, bundles: Sequence[RealBundle]) -> Side:
    namespaces = sorted({key.namespace for bundle in bundles for key in bundle.keys} - {""})
    manifests: list[Document] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": n}} for n in namespaces]
    manifests += [manifest for bundle in bundles for manifest in bundle.manifests]
    with tempfile.TemporaryDirectory(prefix="bench-kubectl-") as folder:
        first = _written(Path(folder, "1.yaml"), [one for one in manifests if one["kind"] in FIRST])
        second = _written(Path(folder, "2.yaml"), [one for one in manifests if one["kind"] not in FIRST])
        async with Client(await load_connection(plane.kubeconfig)) as client:
            await Installer(client, "").bring_missing_kinds(bundles)
            used, served = children_cpu_seconds(), cpu_seconds(plane.pids[APISERVER])
            began = time.perf_counter()
            await asyncio.to_thread(kubectl, plane, "apply", "--server-side", f"--filename={first}")
            # `kubectl wait` asks for one after the other, which takes longer than both passes.
            await eventually(lambda: _all_established(client), what="CRDs Established", seconds=PATIENCE_SECONDS)
            await asyncio.to_thread(kubectl, plane, "apply", "--server-side", f"--filename={second}")
            return Side(
                seconds=time.perf_counter() - began,
                cpu=children_cpu_seconds() - used,
                apiserver_cpu=cpu_seconds(plane.pids[APISERVER]) - served,
            )


async def _all_established(client: Client) -> bool:
    crds = await listed(client, CRDS)
    return all(condition(crd, "Established").get("status") == "True" for crd in crds)


def _written(path: Path, manifests: Sequence[Document]) -> Path:
    path.write_bytes(b"\n---\n".join(map(orjson.dumps, manifests)))
    return path


def chosen(count: int) -> list[RealBundle]:
    """As many of the corpus as can be in one cluster, and that kubectl installs, too."""
    (first, *_) = batches(filter(_is_for_both, real_bundles()), count)
    return first


def _is_for_both(bundle: RealBundle) -> bool:
    """No kinds that are gone, no examples of its own kinds, which their own schemas refuse, no unknown fields."""
    kinds = [GroupVersionKind.parse(one.get("apiVersion", ""), one["kind"]) for one in bundle.manifests]
    is_old = any(not gvk.version or (is_builtin(gvk.group) and "beta" in gvk.version) for gvk in kinds)
    has_examples = not bundle.brought.isdisjoint(gvk.group_kind for gvk in kinds)
    return not (is_old or has_examples or bundle.has_unknown_fields or bundle.watch_namespaces is not None)


def report(found: dict[str, list[Side]], bundles: Sequence[RealBundle]) -> None:
    objects = sum(len(bundle.manifests) for bundle in bundles)
    print(f"\n{len(bundles)} OLM bundles with {objects} objects, median of {len(next(iter(found.values())))}")
    medians = {side: _median(runs) for side, runs in found.items()}
    for name, side in medians.items():
        print(f"{name:10}{side.seconds:7.2f} s, {side.cpu:6.2f} s of CPU, API server {side.apiserver_cpu:6.2f} s")
    ours, theirs = (medians.get(side) for side in SIDES)
    if ours:
        print(f"peak PSS  {ours.peak_pss / MIB:.0f} MiB")
        print_requests(ours.requests, len(bundles))
    if ours and theirs:
        print(f"time, operator : kubectl  {ours.seconds / theirs.seconds:.2f}   (bar: <= {BAR})")


def _median(runs: Sequence[Side]) -> Side:
    middle = statistics.median_low(run.seconds for run in runs)
    return next(run for run in runs if run.seconds == middle)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bundles", type=int, nargs="?", default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--side", action="append", choices=SIDES, help="only this one; may be given again")
    arguments = parser.parse_args()
    if not BUNDLES.is_dir():
        print(f"skipped: no bundles in {BUNDLES}; RUKPAK_CORPUS names a corpus")
        return
    bundles = chosen(arguments.bundles)
    sides = [side for side in SIDES if side in (arguments.side or SIDES)]
    found: dict[str, list[Side]] = {side: [] for side in sides}
    for number in range(arguments.rounds):
        for side in sides if number % 2 == 0 else reversed(sides):
            print(f"round {number + 1}: {side}", flush=True)
            with fresh_plane() as plane, asyncio.Runner(loop_factory=Loop) as runner:
                work = by_operator if side == "operator" else by_kubectl
                one = runner.run(work(plane, bundles))
            print(f"  {one.seconds:.2f} s, {one.cpu:.2f} s of CPU, API server {one.apiserver_cpu:.2f} s", flush=True)
            found[side].append(one)
    report(found, bundles)


if __name__ == "__main__":
    main()

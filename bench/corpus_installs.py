"""All real bundles of the corpus, installed by the operator on a real API server, one after the other in batches.

Needs the corpus: RUKPAK_CORPUS names its directory. On a control plane of its own, without a node: no pods run.
Bundles that share a package, an object or a kind never meet; those with webhooks of `failurePolicy: Fail` come alone.
Kinds that a bundle needs and no one serves come as empty CRDs for as long as its batch takes. Each bundle must be
Installed, or be refused with a message that names the cause. After the deletion of all of them nothing may be left but
install namespaces. Prints a table, the totals, and what is left; the exit code is 1 when too few were installed or
something is left. Usage:

    python bench/corpus_installs.py [--batch 10] [--only NUMBER]... [--log FILE]
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.fresh_plane import fresh_plane
from e2e.cluster.control_plane import ControlPlane
from e2e.local_operator import running
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.runtime.loop import Loop
from tests.corpus.installing import Installer, Result
from tests.corpus.place import BUNDLES
from tests.corpus.real_bundles import RealBundle, answer_with_archive, batches, real_bundles
from tests.integration.cluster_objects import cluster_objects, is_namespace
from tests.integration.operator.process import TRACES
from tests.unit.web_servers import serving

LOOPBACK = "127.0.0.0/8"
BAR = 190
GOING_SECONDS = 120.0  # for what the garbage collector takes


@dataclass(kw_only=True)
class Run:
    results: list[Result] = field(default_factory=list)
    held: dict[str, str] = field(default_factory=dict)  # deployments that did not go by themselves, and why
    namespaces: list[str] = field(default_factory=list)  # new ones, which stay
    left: list[ObjectKey] = field(default_factory=list)

    @property
    def installed(self) -> int:
        return sum(result.is_installed for result in self.results)

    @property
    def is_fine(self) -> bool:
        return not self.left and not self.held and self.installed >= min(BAR, len(self.results))


async def install_all(client: Client, server: str, planned: Sequence[Sequence[RealBundle]]) -> Run:
    installer, run = Installer(client, server), Run()
    before = await cluster_objects(client)
    async with installer.watched_namespace():
        for number, batch in enumerate(planned, 1):
            began = time.monotonic()
            async with installer.missing_kinds(batch):
                results = await installer.install(batch)
                run.held |= await installer.uninstall(batch)
            run.results += results
            print_batch(f"{number}/{len(planned)}", results, time.monotonic() - began)
    left = await _left(client, before)
    run.namespaces = sorted(key.name for key in left if is_namespace(key))
    run.left = sorted(key for key in left if not is_namespace(key))
    return run


async def _left(client: Client, before: set[ObjectKey]) -> set[ObjectKey]:
    """Once it is only namespaces, or when it does not become less."""
    deadline = time.monotonic() + GOING_SECONDS
    while True:
        left = await cluster_objects(client) - before
        if all(map(is_namespace, left)) or time.monotonic() > deadline:
            return left
        await asyncio.sleep(1)


def print_batch(which: str, results: Sequence[Result], seconds: float) -> None:
    for result in results:
        print(f"{which:>8}  {result.seconds:5.1f} s  {result.bundle}: {result.message or 'Installed'}", flush=True)
    print(f"{which:>8}  {seconds:5.1f} s  with deletion", flush=True)


def report(run: Run) -> None:
    print(f"\n{run.installed} of {len(run.results)} Installed (bar for all: {BAR})")
    for result in run.results:
        if not result.is_installed:
            print(f"refused  {result.bundle}: {result.message}")
    for bundle, message in run.held.items():
        print(f"stayed   {bundle}: {message}")
    print(f"install namespaces: {', '.join(run.namespaces)}")
    print(f"left: {len(run.left)}")
    for key in run.left:
        print(f"  {key}")


async def run_on(plane: ControlPlane, planned: Sequence[Sequence[RealBundle]], log: Path | None) -> Run:
    with tempfile.TemporaryDirectory(prefix="corpus-operator-") as folder, serving(answer_with_archive) as server:
        async with Client(await load_connection(plane.kubeconfig)) as client:
            with running(kubeconfig=plane.kubeconfig, folder=Path(folder), source_addresses=LOOPBACK) as operator:
                try:
                    return await install_all(client, server.address, planned)
                finally:
                    text = operator.log.read_text(errors="replace")
                    print(f"traces of bugs in the log: {[trace for trace in TRACES if trace in text] or 'none'}")
                    if log is not None:
                        shutil.copy(operator.log, log)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=10, help="bundles at a time")
    parser.add_argument("--only", action="append", help="the number of a bundle; may be given again")
    parser.add_argument("--log", type=Path, help="where to put the operator's log")
    arguments = parser.parse_args()
    if not BUNDLES.is_dir():
        print(f"skipped: no bundles in {BUNDLES}; RUKPAK_CORPUS names a corpus")
        return
    chosen = [one for one in real_bundles() if not arguments.only or one.name.partition("-")[0] in arguments.only]
    planned = batches(chosen, arguments.batch)
    print(f"{len(chosen)} bundles in {len(planned)} batches", flush=True)
    with fresh_plane() as plane, asyncio.Runner(loop_factory=Loop) as runner:
        run = runner.run(run_on(plane, planned, arguments.log))
    report(run)
    sys.exit(0 if run.is_fine else 1)


if __name__ == "__main__":
    main()

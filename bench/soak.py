"""An hour of ordinary trouble: the operator's memory must be flat, nothing may be stuck, no Warning unexplained.

N deployments of four or five objects. Every second something happens to one of them, chosen by the seed: an object is
edited or deleted, the deployment is upgraded, deleted or created again. Every five minutes the API server is
restarted, by SIGTERM and SIGKILL in turn. At the end all deployments must be Ready with their newest content, every
object must be as that content says, and nothing else may be there. Usage:

    python bench/soak.py [N] [--minutes 60] [--every SECONDS] [--restart-minutes 5] [--seed 41]

It ends with exit code 1 when something is stuck or a Warning unexplained. Memory is for people to judge: see the slope.
"""

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import operator_metrics
from bench.fresh_plane import fresh_plane
from bench.operator_metrics import Requests
from bench.process_tree import cpu_seconds
from bench.report import MIB, print_requests
from bench.soak_actions import Action, Fleet
from bench.soak_watching import Memory, Sample, Warnings, not_as_wanted, slope
from e2e.cluster.control_plane import ControlPlane
from e2e.local_operator import running
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.runtime.loop import Loop

SEED = 41
SETTLE_SECONDS = 300.0
LOOK_SECONDS = 2.0
SHOWN_EVERY_SECONDS = 300.0
MOST_SHOWN = 20
# Warnings that the actions explain: by reason and kind.
EXPLAINED = {
    ("FailedScheduling", "Pod"): "an edit asks for a replica, and there is no node",
    ("FailedCreate", "ReplicaSet"): "an edit asks for a replica, and its service account was deleted",
    ("FailedToCreateEndpoint", "Endpoints"): "a deployment was created again before the endpoints of its Service went",
    ("ClusterIPNotAllocated", "Service"): "the API server was killed between an address and its record, and repairs it",
    ("FieldsContested", "BundleDeployment"): "edits of one object that follow each other quickly",
}


@dataclass(frozen=True, kw_only=True)
class Soak:
    samples: list[Sample]
    stuck: list[str]
    warnings: Counter[tuple[str, str]]
    texts: dict[tuple[str, str], str]
    requests: Requests
    reconciles: Counter[str]
    dropped_events: dict[str, int]
    tracebacks: int
    cpu: float
    done: Counter[Action]
    seconds: float
    settled_seconds: float


async def soak(
    plane: ControlPlane, names: list[str], *, minutes: float, every: float, restart_minutes: float, seed: int
) -> Soak:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bench-operator-") as folder:
        async with Client(await load_connection(plane.kubeconfig)) as client, Warnings(client) as warnings:
            fleet = Fleet(client=client, names=names, seed=seed)
            with running(kubeconfig=plane.kubeconfig, folder=Path(folder)) as operator:
                print(f"operator: process {operator.pid}, log {operator.log}", flush=True)
                await fleet.create_all()
                if not_installed := await _until_settled(client, fleet):
                    raise SystemExit(f"not installed within {SETTLE_SECONDS:.0f} s: {not_installed[:MOST_SHOWN]}")
                async with Memory(operator.pid) as memory:
                    restarts = asyncio.create_task(_restart_often(plane, fleet, restart_minutes * 60))
                    await _act(fleet, memory, seconds=minutes * 60, every=every)
                    restarts.cancel()
                    with suppress(asyncio.CancelledError):
                        await restarts
                acted = time.monotonic()
                await fleet.complete()
                stuck = await _until_settled(client, fleet)
                return Soak(
                    samples=memory.samples,
                    stuck=stuck,
                    warnings=warnings.counts,
                    texts=warnings.last,
                    requests=await operator_metrics.requests(operator),
                    reconciles=await operator_metrics.reconciles(operator),
                    dropped_events=await operator_metrics.dropped_events(operator),
                    tracebacks=operator.log.read_text(errors="replace").count("Traceback"),
                    cpu=cpu_seconds(operator.pid),
                    done=fleet.done,
                    seconds=acted - began,
                    settled_seconds=time.monotonic() - acted,
                )


async def _act(fleet: Fleet, memory: Memory, *, seconds: float, every: float) -> None:
    began = shown = time.monotonic()
    while (now := time.monotonic()) < began + seconds:
        if now >= shown and memory.samples:
            shown += SHOWN_EVERY_SECONDS
            last = memory.samples[-1]
            print(
                f"  {last.seconds / 60:5.1f} min: RSS {last.rss / MIB:.1f} MiB, "
                f"PSS with children {last.pss / MIB:.1f} MiB, {fleet.done.total()} actions",
                flush=True,
            )
        await fleet.act()
        await asyncio.sleep(max(0.0, every - (time.monotonic() - now)))


async def _restart_often(plane: ControlPlane, fleet: Fleet, seconds: float) -> None:
    """A restart that has begun comes to its end, also when this is cancelled."""
    while True:
        for number in (signal.SIGTERM, signal.SIGKILL):
            await asyncio.sleep(seconds)
            restart = asyncio.create_task(asyncio.to_thread(plane.restart_apiserver, number))
            try:
                await asyncio.shield(restart)
            except asyncio.CancelledError:
                await restart
                raise
            finally:
                fleet.done[Action.RESTART] += 1


async def _until_settled(client: Client, fleet: Fleet) -> list[str]:
    """Look until all is as wanted, for at most five minutes without an action; the rest is stuck."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while (found := await not_as_wanted(client, fleet)) and time.monotonic() < deadline:  # noqa: ASYNC110 - it is a server
        await asyncio.sleep(LOOK_SECONDS)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("deployments", type=int, nargs="?", default=200)
    parser.add_argument("--minutes", type=float, default=60.0, help="how long to act")
    parser.add_argument("--every", type=float, default=1.0, metavar="SECONDS", help="between two actions")
    parser.add_argument("--restart-minutes", type=float, default=5.0, help="between two restarts of the API server")
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    names = [f"app-{number:05d}" for number in range(given.deployments)]
    with fresh_plane() as plane, asyncio.Runner(loop_factory=Loop) as runner:
        found = runner.run(
            soak(
                plane,
                names,
                minutes=given.minutes,
                every=given.every,
                restart_minutes=given.restart_minutes,
                seed=given.seed,
            )
        )
    return _report(found, given.deployments)


def _report(found: Soak, count: int) -> int:
    first, last = found.samples[0], found.samples[-1]
    actions = ", ".join(f"{number} x {action}" for action, number in sorted(found.done.items()))
    unexplained = {what: number for what, number in found.warnings.items() if what not in EXPLAINED}
    print(f"\n{count} deployments, {found.seconds / 60:.0f} minutes: {actions}")
    print(f"RSS          {first.rss / MIB:.1f} MiB, at the end {last.rss / MIB:.1f} MiB")
    print(f"  slope      {slope(found.samples):+.2f} MiB/h by least squares, after the first sixth of the time")
    print(f"PSS          {first.pss / MIB:.1f} MiB, at the end {last.pss / MIB:.1f} MiB (with children)")
    print(f"  slope      {slope(found.samples, of_tree=True):+.2f} MiB/h")
    print(f"CPU          {found.cpu:.1f} s, {found.cpu / found.seconds:.2%} of a core")
    print(f"stuck        {len(found.stuck)}   (bar: 0), {found.settled_seconds:.0f} s after the last action")
    for one in found.stuck[:MOST_SHOWN]:
        print(f"  {one}")
    for what, number in sorted(found.warnings.items()):
        why = EXPLAINED.get(what, "UNEXPLAINED")
        print(f"Warning      {number} x {' of a '.join(what)}: {why}; the last: {found.texts[what]}")
    print(f"unexplained  {len(unexplained)}   (bar: 0)")
    print(f"tracebacks   {found.tracebacks}   (bar: 0)")
    print(f"dropped      {found.dropped_events or 0} Events")
    print(f"reconciles   {', '.join(f'{number} x {kind}' for kind, number in sorted(found.reconciles.items()))}")
    print_requests(found.requests, count)
    return 1 if found.stuck or unexplained or found.tracebacks else 0


if __name__ == "__main__":
    sys.exit(main())

"""Deployments that never become healthy must not slow down the others.

Ten good deployments, one after the other, each from its creation to Ready; then 200 that stay unhealthy (a Deployment
with a replica, where no node is); then ten good ones again. Prints the median before and after, and the requests that
the operator sent during each ten. Usage:

    python bench/never_healthy.py [--unhealthy 200] [--good 10]
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.fresh_plane import fresh_plane
from bench.operator_metrics import Requests, requests_once_quiet, without_lease
from bench.readiness import Readiness
from bench.report import print_requests
from bench.sides import create_deployments, publish
from e2e.cluster.control_plane import ControlPlane
from e2e.local_operator import LocalOperator, running
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection

GROWTH_BAR, SECONDS_BAR = 0.20, 0.1
PATIENCE_SECONDS = 300.0


@dataclass(frozen=True, kw_only=True)
class Good:
    seconds: list[float]
    requests: Requests

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


async def compare(plane: ControlPlane, *, unhealthy: int, good: int) -> tuple[Good, Good]:
    first, second = ([f"{batch}-{number:03d}" for number in range(good)] for batch in ("before", "after"))
    bad = [f"bad-{number:03d}" for number in range(unhealthy)]
    with tempfile.TemporaryDirectory(prefix="bench-operator-") as folder:
        async with Client(await load_connection(plane.kubeconfig)) as client:
            await publish(client, ["warm-up", *first, *second])
            await publish(client, bad, replicas=1)
            with running(kubeconfig=plane.kubeconfig, folder=Path(folder)) as operator:
                await _one_by_one(client, operator, ["warm-up"])  # opens the watches of the kinds
                before = await _one_by_one(client, operator, first)
                async with Readiness(client, condition="Installed") as installed:
                    await create_deployments(client, bad)
                    await installed.wait_for(1 + good + unhealthy, seconds=PATIENCE_SECONDS)
                return before, await _one_by_one(client, operator, second)


async def _one_by_one(client: Client, operator: LocalOperator, names: Sequence[str]) -> Good:
    sent = await requests_once_quiet(operator)
    seconds = []
    async with Readiness(client) as ready:
        known = len(ready.since)
        for number, name in enumerate(names, 1):
            began = time.perf_counter()
            await create_deployments(client, [name])
            await ready.wait_for(known + number, seconds=PATIENCE_SECONDS)
            seconds.append(ready.since[name] - began)
    return Good(seconds=seconds, requests=without_lease(await requests_once_quiet(operator) - sent))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unhealthy", type=int, default=200)
    parser.add_argument("--good", type=int, default=10)
    arguments = parser.parse_args()
    with fresh_plane() as plane:
        before, after = asyncio.run(compare(plane, unhealthy=arguments.unhealthy, good=arguments.good))
    growth = after.median - before.median
    allowed = max(GROWTH_BAR * before.median, SECONDS_BAR)
    print(f"{arguments.good} good deployments beside {arguments.unhealthy} that never become healthy")
    print(f"median before      {before.median:.3f} s")
    print(f"median after       {after.median:.3f} s, {growth:+.3f} s   (bar: <= +{allowed:.3f} s)")
    print(f"requests equal     {'yes' if before.requests == after.requests else 'no'}   (bar: yes)")
    for what, one in (("before", before), ("after", after)):
        print(f"--- {what}")
        print_requests(one.requests, arguments.good)


if __name__ == "__main__":
    main()

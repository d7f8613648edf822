"""Deployments whose objects a slow admission webhook holds up must not slow down the others.

Good deployments, one after the other, each from its creation to Ready; then as many that an admission webhook of their
namespace answers after nine seconds, for each of their objects; then good ones again, while the webhook holds the
others. Prints the median beside the slow ones, that of alone, and their ratio. Usage:

    python bench/slow_webhooks.py [--slow 8] [--good 5]
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

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.fresh_plane import fresh_plane
from bench.readiness import Readiness
from bench.sides import create_deployments, publish
from bench.workload import SYSTEM
from e2e.cluster.control_plane import ControlPlane
from e2e.local_operator import running
from e2e.slow_webhook import SlowWebhook, slow_webhook
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.kube.resources import CONFIG_MAPS, NAMESPACES

ANSWER_SECONDS = 9.0
OBJECTS = 20  # of each slow deployment
SLOW = "slow"  # the namespace, and the webhook
PATIENCE_SECONDS = 300.0


@dataclass(frozen=True, kw_only=True)
class Figures:
    alone: list[float]
    beside: list[float]
    held: int  # requests, when the last good one was Ready
    slow_ready: int


async def compare(plane: ControlPlane, *, slow: int, good: int) -> Figures:
    first, second = ([f"{batch}-{number:03d}" for number in range(good)] for batch in ("alone", "beside"))
    slow_ones = [f"slow-{number:03d}" for number in range(slow)]
    with tempfile.TemporaryDirectory(prefix="bench-operator-") as folder:
        async with (
            Client(await load_connection(plane.kubeconfig)) as client,
            slow_webhook(client, SLOW, Path(folder), seconds=ANSWER_SECONDS) as webhook,
        ):
            await publish(client, ["warm-up", *first, *second])
            await _publish_slow(client, slow_ones)
            with running(kubeconfig=plane.kubeconfig, folder=Path(folder)):
                await _one_by_one(client, ["warm-up"])  # opens the watches of the kinds
                alone = await _one_by_one(client, first)
                await create_deployments(client, slow_ones)
                await _until_held(webhook, slow)
                beside = await _one_by_one(client, second)
                held = len(webhook.held)
                async with Readiness(client) as ready:
                    slow_ready = len(set(slow_ones) & ready.since.keys())
                return Figures(alone=alone, beside=beside, held=held, slow_ready=slow_ready)


async def _publish_slow(client: Client, names: Sequence[str]) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SLOW, "labels": {SLOW: "true"}}}
    await client.create(NAMESPACES, "", orjson.dumps(namespace))
    for name in names:
        objects = (
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{name}-{number}", "namespace": SLOW}}
            for number in range(OBJECTS)
        )
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": SYSTEM},
            "immutable": True,
            "data": {"manifests.yaml": "\n---\n".join(orjson.dumps(one).decode() for one in objects)},
        }
        await client.create(CONFIG_MAPS, SYSTEM, orjson.dumps(body))


async def _until_held(webhook: SlowWebhook, number: int) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len({name.rpartition("-")[0] for _, name in webhook.held}) < number:  # noqa: ASYNC110 - it is a server
            await asyncio.sleep(0.01)


async def _one_by_one(client: Client, names: Sequence[str]) -> list[float]:
    seconds = []
    async with Readiness(client) as ready:
        for name in names:
            began = time.perf_counter()
            await create_deployments(client, [name])
            await ready.wait_until(name, seconds=PATIENCE_SECONDS)
            seconds.append(ready.since[name] - began)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slow", type=int, default=8)
    parser.add_argument("--good", type=int, default=5)
    arguments = parser.parse_args()
    with fresh_plane() as plane:
        found = asyncio.run(compare(plane, slow=arguments.slow, good=arguments.good))
    alone, beside = statistics.median(found.alone), statistics.median(found.beside)
    print(
        f"{arguments.good} good deployments beside {arguments.slow} whose webhook answers after {ANSWER_SECONDS:.0f} s"
    )
    print(f"median alone       {alone:.3f} s, longest {max(found.alone):.3f} s")
    print(f"median beside      {beside:.3f} s, longest {max(found.beside):.3f} s")
    print(f"ratio              {beside / alone:.2f}")
    print(f"then held          {found.held} requests; {found.slow_ready} of the slow ones were Ready")


if __name__ == "__main__":
    main()

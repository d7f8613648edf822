"""How much one large installation costs over the bare requests that it consists of.

On one private control plane, in one run: N ConfigMaps by nothing but N metadata GETs and N applies, then N others by a
BundleDeployment (from creating it to Ready). Both against the same server, so only the ratio means anything; the
event loop's lag is the operator's own metric over that installation. Usage:

    python bench/install.py [--objects 3000]
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.fresh_plane import fresh_plane
from bench.operator_metrics import Requests, loop_lag, requests_once_quiet, without_lease
from bench.readiness import Readiness
from bench.report import print_requests
from bench.workload import NAMESPACE, SYSTEM, bundle_deployment, content
from e2e.cluster.control_plane import ControlPlane
from e2e.local_operator import running
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS
from rukpak_py.runtime.loop import Loop
from tests.manifests import config_map

IN_FLIGHT = 32  # as many as a client sends at once
NAME = "large"
SECONDS_BAR = 60.0
PATIENCE_SECONDS = 600.0


async def bare(client: Client, objects: int) -> float:
    """Do the least that every installer must do: look whether the name is free, and apply."""
    slots = asyncio.Semaphore(IN_FLIGHT)

    async def one(number: int) -> None:
        name = f"bare-{number}"
        body = orjson.dumps(config_map(name, NAMESPACE, number=str(number)))
        async with slots:
            try:
                await client.get_metadata(CONFIG_MAPS, NAMESPACE, name)
            except NotFoundError:
                await client.apply(CONFIG_MAPS, NAMESPACE, name, body, field_manager="bench", force=False)

    began = time.perf_counter()
    await asyncio.gather(*(one(number) for number in range(objects)))
    return time.perf_counter() - began


async def installed(client: Client, objects: int) -> float:
    """From the creation of the deployment to its being Ready; its content is there already."""
    manifests = [config_map(f"installed-{number}", NAMESPACE, number=str(number)) for number in range(objects)]
    await client.create(CONFIG_MAPS, SYSTEM, content(NAME, manifests))
    async with Readiness(client) as ready:
        began = time.perf_counter()
        await client.create(BUNDLE_DEPLOYMENTS, "", bundle_deployment(NAME))
        await ready.wait_for(1, seconds=PATIENCE_SECONDS)
        return ready.since[NAME] - began


async def measure(plane: ControlPlane, objects: int) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-operator-") as folder:
        async with Client(await load_connection(plane.kubeconfig)) as client:
            with running(kubeconfig=plane.kubeconfig, folder=Path(folder)) as operator:
                floor = await bare(client, objects)
                before = await requests_once_quiet(operator)
                ours = await installed(client, objects)
                sent = without_lease(await requests_once_quiet(operator) - before)
                report(objects, floor=floor, ours=ours, lag=await loop_lag(operator), sent=sent)


def report(objects: int, *, floor: float, ours: float, lag: str, sent: Requests) -> None:
    print(f"one bundle of {objects} ConfigMaps")
    print(f"bare requests       {floor:6.2f} s")
    print(f"BundleDeployment    {ours:6.2f} s   (bar for 3,000: < {SECONDS_BAR:.0f} s)")
    print(f"ratio               {ours / floor:6.2f}")
    print(f"event loop lag, p99 <= {lag} s")
    print_requests(sent, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objects", type=int, default=3000)
    objects = parser.parse_args().objects
    with fresh_plane() as plane, asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(measure(plane, objects))


if __name__ == "__main__":
    main()

"""Scrapes of metrics with many BundleDeployments: what they cost the event loop.

    python bench/scraping.py [BUNDLEDEPLOYMENTS]

Compared with what the client library takes to print as many plain series, which is the least that a scrape can cost.
All times are processor time. The longest hold is the longest one for which other tasks of the loop did not run. One of
ten deployments is not ready.
"""

import asyncio
import statistics
import sys
from time import thread_time
from typing import Any, cast

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from rukpak_py.api.reading import read_bundle, read_bundle_deployment
from rukpak_py.controllers.object_metrics import ObjectMetrics
from rukpak_py.core import metrics
from rukpak_py.server import web

ROUNDS = 30
MOST_OVER_PLAIN = 3.0
INTERVAL_SECONDS = 30.0  # between two scrapes
CLASS = "core-rukpak-io-plain"
SPEC = {"provisionerClassName": CLASS, "source": {"type": "image", "image": {"ref": "r.example/app:1"}}}


def document(kind: str, name: str, spec: dict[str, Any], *, ready: bool) -> dict[str, Any]:
    condition = {"reason": "Succeeded", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    conditions = [{"type": "Ready", "status": str(ready), **condition}]
    head = {"apiVersion": "core.rukpak.io/v1alpha1", "kind": kind, "metadata": {"name": name, "uid": name}}
    return {**head, "spec": spec, "status": {"conditions": conditions}}


def collector(number: int) -> ObjectMetrics:
    names = [f"deployment-{one}" for one in range(number)]
    spec = {"provisionerClassName": CLASS, "template": {"spec": SPEC}}
    deployments = [
        read_bundle_deployment(document("BundleDeployment", name, spec, ready=bool(at % 10)))
        for at, name in enumerate(names)
    ]
    bundles = [read_bundle(document("Bundle", f"{name}-2evqvp5v61", SPEC, ready=True)) for name in names]
    return ObjectMetrics(bundles, deployments, expiries=tuple, per_object=True, most=10 * number)


async def scraped(scrapes: web.Scrapes) -> tuple[float, float, int]:
    """Seconds, the longest hold, and the bytes of the text."""
    longest, last = 0.0, thread_time()

    async def others() -> None:
        nonlocal longest, last
        while True:
            now = thread_time()
            longest, last = max(longest, now - last), now
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    began = thread_time()
    response = await scrapes.handle(cast("Any", None))
    seconds = thread_time() - began
    task.cancel()
    return seconds, longest, len(cast("bytes", response.body))


def plain(samples: int) -> float:
    registry = CollectorRegistry()
    gauge = Gauge("plain_resource_ready", "As many series.", ["kind", "name"], registry=registry)
    for number in range(samples):
        gauge.labels("BundleDeployment", f"deployment-{number}").set(1)
    times = []
    for _ in range(ROUNDS):
        began = thread_time()
        generate_latest(registry)
        times.append(thread_time() - began)
    return statistics.median(times)


async def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    web.PAUSES = 0
    found = collector(number)
    samples = sum(len(family.samples) for family in found.collect())
    with metrics.exported(found):
        rounds = [await scraped(web.Scrapes()) for _ in range(ROUNDS)]
    seconds, longest = (statistics.median(one[at] for one in rounds) for at in (0, 1))
    print(f"{number} BundleDeployments with their Bundles: {samples} series of objects, {rounds[0][2]} bytes")
    ratio = seconds / plain(samples)
    print(f"a scrape : as many plain series  {ratio:.2f}  ({seconds * 1000:.1f} ms; at most {MOST_OVER_PLAIN})")
    print(f"a scrape : the time between two  {seconds / INTERVAL_SECONDS:.5f}")
    print(f"longest hold : a scrape          {longest / seconds:.2f}  ({longest * 1000:.1f} ms)")
    if ratio > MOST_OVER_PLAIN:
        sys.exit(1)


if __name__ == "__main__":
    asyncio.run(main())

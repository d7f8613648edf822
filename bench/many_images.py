"""Bundles of images by our operator: many small ones at once, and large ones at once.

Small ones: seconds until all are Unpacked, and requests of the operator for each. Large ones are mostly files that the
format does not read; what is looked at is the memory of the operator with its worker processes. Both have a control
plane, an operator and a registry of their own. Usage:

    python bench/many_images.py [N] [--large 20] [--large-mib 20]
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import orjson

from bench import operator_metrics
from bench.fresh_plane import fresh_plane
from bench.process_tree import PeakMemory
from bench.report import MIB, print_requests
from e2e.local_operator import running
from rukpak_py.api.names import API_VERSION, BUNDLE_KIND, PLAIN_CLASS
from rukpak_py.controllers.kinds import BUNDLES
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.operator.event_loop import Loop
from tests.integration.images.registry import Registry, running_registry
from tests.integration.listing import listed
from tests.unit.sources.image.image_registry import Contents

PSS_BAR_MIB = 350
MANIFESTS_MIB = 2
SECONDS_EACH, SECONDS_AT_LEAST = 2.0, 120.0
LOOPBACK = "127.0.0.0/8"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bundles", type=int, nargs="?", default=500)
    parser.add_argument("--large", type=int, default=20, help="large images; 0: none")
    parser.add_argument("--large-mib", type=int, default=20, help="size of each, manifests included")
    arguments = parser.parse_args()
    with asyncio.Runner(loop_factory=Loop) as runner:
        if arguments.bundles:
            runner.run(_measured("small", arguments.bundles, _small))
        if arguments.large:
            runner.run(_measured("large", arguments.large, lambda number: _large(number, arguments.large_mib)))


def _small(number: int) -> dict[str, bytes]:
    return {"manifests/a.yaml": _manifest(f"a-{number}", b"1")}


def _large(number: int, mib: int) -> dict[str, bytes]:
    """Noise, so that it is as large in the registry."""
    noise = random.Random(number)  # noqa: S311 - the same image each time
    rest = {f"data/{n}": noise.randbytes(MIB) for n in range(mib - MANIFESTS_MIB)}
    files = {f"manifests/{n}.yaml": _manifest(f"a-{n}", noise.randbytes(50_000).hex().encode()) for n in range(20)}
    return {**rest, **files}


def _manifest(name: str, value: bytes) -> bytes:
    head = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: bench}}\ndata:\n  v: "
    return head.encode() + b'"' + value + b'"\n'


async def _measured(what: str, count: int, files: Callable[[int], dict[str, bytes]]) -> None:
    with (
        fresh_plane() as plane,
        tempfile.TemporaryDirectory(prefix="bench-images-") as folder,
        running_registry(Path(folder, "registry")) as registry,
    ):
        for number in range(count):
            _push(registry, number, files(number))
        async with Client(await load_connection(plane.kubeconfig)) as client:
            with running(kubeconfig=plane.kubeconfig, folder=Path(folder), source_addresses=LOOPBACK) as operator:
                before = await operator_metrics.requests_once_quiet(operator)
                async with PeakMemory(operator.pid) as memory:
                    began = time.perf_counter()
                    await asyncio.gather(*(_create(client, registry, number) for number in range(count)))
                    await _all_unpacked(client, count)
                    seconds = time.perf_counter() - began
                sent = await operator_metrics.requests_once_quiet(operator) - before
    print(
        f"{count} {what} images: all Unpacked after {seconds:.2f} s, peak PSS {memory.bytes / MIB:.0f} MiB", flush=True
    )
    if what == "large":
        print(f"  bar: <= {PSS_BAR_MIB} MiB")
    print_requests(sent, count)


def _push(registry: Registry, number: int, files: dict[str, bytes]) -> None:
    contents = Contents()
    contents.image(files, tag=f"v{number}")
    registry.push(contents, "bench")


async def _create(client: Client, registry: Registry, number: int) -> None:
    source = {"type": "image", "image": {"ref": f"{registry.address}/bench:v{number}"}}
    body = {
        "apiVersion": API_VERSION,
        "kind": BUNDLE_KIND,
        "metadata": {"name": f"image-{number}"},
        "spec": {"provisionerClassName": PLAIN_CLASS, "source": source},
    }
    await client.create(BUNDLES, "", orjson.dumps(body))


async def _all_unpacked(client: Client, count: int) -> None:
    async with asyncio.timeout(max(SECONDS_AT_LEAST, SECONDS_EACH * count)):
        while True:
            phases = [one.get("status", {}).get("phase") for one in await listed(client, BUNDLES)]
            if phases.count("Unpacked") == count:
                return
            await asyncio.sleep(0.2)


if __name__ == "__main__":
    main()

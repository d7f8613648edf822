"""Bundles of images by our operator: many small ones at once, and large ones at once.

Small ones: seconds until all are Unpacked, beside Bundles whose registry takes connections and never answers, and
requests of the operator for each; then the operator starts again with an empty store, and what it writes to the API
server and asks of the registry is counted. Large ones are mostly files that the format does not read; what is looked
at is the memory of the operator with its worker processes. Both have a control plane, an operator and a registry of
their own. Usage:

    python bench/many_images.py [N] [--hanging 10] [--large 20] [--large-mib 20]
"""

import argparse
import asyncio
import random
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import orjson

from bench import operator_metrics
from bench.fresh_plane import fresh_plane
from bench.process_tree import PeakMemory
from bench.report import MIB, print_requests
from e2e.local_operator import LocalOperator, running
from rukpak_py.api.names import API_VERSION, BUNDLE_KIND, PLAIN_CLASS
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.kube.resources import BUNDLES
from rukpak_py.runtime.loop import Loop
from tests.integration.images.registry import Registry, running_registry
from tests.integration.listing import listed
from tests.unit.sources.image.image_registry import Contents
from tests.waiting import eventually

PSS_BAR_MIB = 350
MANIFESTS_MIB = 2
SECONDS_EACH, SECONDS_AT_LEAST = 2.0, 120.0
RESTART_SECONDS = 10
WRITES = frozenset({"create", "patch", "apply", "update", "delete"})
LOOPBACK = "127.0.0.0/8"
SAME_CONTENT_URL = ("--http-external-address=https://core.example",)  # after a restart, whatever the port


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bundles", type=int, nargs="?", default=500)
    parser.add_argument("--hanging", type=int, default=10, help="Bundles beside the small ones whose registry hangs")
    parser.add_argument("--large", type=int, default=20, help="large images; 0: none")
    parser.add_argument("--large-mib", type=int, default=20, help="size of each, manifests included")
    arguments = parser.parse_args()
    with asyncio.Runner(loop_factory=Loop) as runner:
        if arguments.bundles:
            runner.run(_small_images(arguments.bundles, arguments.hanging))
        if arguments.large:
            runner.run(_large_images(arguments.large, arguments.large_mib))


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


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A control plane and a registry, which has one image for each number; operators are started on them."""

    client: Client
    registry: Registry
    folder: Path
    start: Callable[[], AbstractContextManager[LocalOperator]]

    async def unpack(self, what: str, count: int, others: Mapping[str, str]) -> None:
        """Measure `count` Bundles, beside others, which are named with their references."""
        with self.start() as operator:
            before = await operator_metrics.requests_once_quiet(operator)
            async with PeakMemory(operator.pid) as memory:
                for name, ref in others.items():
                    await _create(self.client, ref, name)
                began = time.perf_counter()
                refs = {f"image-{number}": f"{self.registry.address}/bench:v{number}" for number in range(count)}
                await asyncio.gather(*(_create(self.client, ref, name) for name, ref in refs.items()))
                await _all_unpacked(self.client, count)
                seconds = time.perf_counter() - began
            sent = await operator_metrics.requests_once_quiet(operator) - before
        print(f"{what}: all Unpacked after {seconds:.2f} s, peak PSS {memory.bytes / MIB:.0f} MiB", flush=True)
        print_requests(sent, count + len(others))


@asynccontextmanager
async def _bench(count: int, files: Callable[[int], dict[str, bytes]]) -> AsyncIterator[Bench]:
    with (
        fresh_plane() as plane,
        tempfile.TemporaryDirectory(prefix="bench-images-") as name,
        running_registry(Path(name, "registry"), logs_requests=True) as registry,
    ):
        for number in range(count):
            _push(registry, number, files(number))
        folder, kubeconfig = Path(name), plane.kubeconfig
        start = partial(
            running, kubeconfig=kubeconfig, folder=folder, source_addresses=LOOPBACK, flags=SAME_CONTENT_URL
        )
        async with Client(await load_connection(kubeconfig)) as client:
            yield Bench(client=client, registry=registry, folder=folder, start=start)


async def _small_images(count: int, hanging: int) -> None:
    async with _bench(count, _small) as bench:
        with _silent_registry() as silent:
            others = {f"hangs-{number}": f"{silent}/hangs:v{number}" for number in range(hanging)}
            await bench.unpack(f"{count} small images, beside {hanging} whose registry hangs", count, others)
            shutil.rmtree(bench.folder / "bundles")
            await _restarted(bench.start, bench.folder / "registry/registry.log")


async def _large_images(count: int, mib: int) -> None:
    async with _bench(count, lambda number: _large(number, mib)) as bench:
        await bench.unpack(f"{count} images of {mib} MiB", count, {})
        print(f"  bar: <= {PSS_BAR_MIB} MiB")


async def _restarted(start: Callable[[], AbstractContextManager[LocalOperator]], log: Path) -> None:
    """With an empty store: what is asked in the first moments, when everything could be asked at once."""
    before = _asked(log)
    with start() as operator:
        await asyncio.sleep(RESTART_SECONDS)
        sent = await operator_metrics.requests(operator)
        writes = {
            f"{verb} {what}": count for (verb, what), count in sent.items() if verb in WRITES and what != "leases"
        }
        asked = _asked(log) - before
    print(
        f"  {RESTART_SECONDS} s after a restart with an empty store: {asked} requests to the registry, writes {writes}"
    )


def _asked(log: Path) -> int:
    return log.read_text(errors="replace").count('"GET /v2/')


@contextmanager
def _silent_registry() -> Iterator[str]:
    """Its address. It takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def _push(registry: Registry, number: int, files: dict[str, bytes]) -> None:
    contents = Contents()
    contents.image(files, tag=f"v{number}")
    registry.push(contents, "bench")


async def _create(client: Client, ref: str, name: str) -> None:
    source = {"type": "image", "image": {"ref": ref}}
    body = {
        "apiVersion": API_VERSION,
        "kind": BUNDLE_KIND,
        "metadata": {"name": name},
        "spec": {"provisionerClassName": PLAIN_CLASS, "source": source},
    }
    await client.create(BUNDLES, "", orjson.dumps(body))


async def _all_unpacked(client: Client, count: int) -> None:
    async def are_unpacked() -> bool:
        phases = [one.get("status", {}).get("phase") for one in await listed(client, BUNDLES)]
        return phases.count("Unpacked") == count

    await eventually(are_unpacked, what="all are unpacked", seconds=max(SECONDS_AT_LEAST, SECONDS_EACH * count))


if __name__ == "__main__":
    main()

"""How much an installation costs over the bare requests that it consists of.

On one private control plane, in one run: N ConfigMaps by nothing but N metadata GETs and N applies, then N others by a
BundleDeployment (from creating it to Ready). Both against the same server, so only the ratio means anything; the
event loop's lag is the operator's own metric over that installation. Usage:

    python bench/install.py [--objects N]
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from e2e.cluster import binaries
from e2e.cluster.control_plane import ControlPlane
from e2e.local_operator import running
from rukpak_py.apply.target import AT_ONCE
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import CONFIG_MAPS

ROOT = Path(__file__).resolve().parents[1]


def manifest(prefix: str, number: int) -> dict[str, object]:
    metadata = {"name": f"{prefix}-{number}", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"number": str(number)}}


async def bare(kubeconfig: Path, objects: int) -> float:
    """What no installer can do without: look whether the name is free, and apply."""
    async with Client(await load_connection(kubeconfig)) as client:
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(number: int) -> None:
            body = manifest("bare", number)
            name = f"bare-{number}"
            async with slots:
                try:
                    await client.get_metadata(CONFIG_MAPS, "default", name)
                except NotFoundError:
                    await client.apply(
                        CONFIG_MAPS, "default", name, orjson.dumps(body), field_manager="bench", force=False
                    )

        began = time.perf_counter()
        await asyncio.gather(*(one(number) for number in range(objects)))
        return time.perf_counter() - began


def installed(kubectl: list[str], objects: int) -> float:
    """From the creation of the deployment to its being Ready; its content is there already."""
    content = "\n---\n".join(orjson.dumps(manifest("installed", number)).decode() for number in range(objects))
    source = {"name": "bench", "namespace": "rukpak-system"}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": source, "immutable": True}
    bundle = {
        "provisionerClassName": "core-rukpak-io-plain",
        "source": {"type": "configMaps", "configMaps": [{"path": "manifests", "configMap": {"name": "bench"}}]},
    }
    deployment = {
        "apiVersion": "core.rukpak.io/v1alpha1",
        "kind": "BundleDeployment",
        "metadata": {"name": "bench"},
        "spec": {"provisionerClassName": "core-rukpak-io-plain", "template": {"spec": bundle}},
    }
    create(kubectl, {**config_map, "data": {"all.yaml": content}})
    began = time.perf_counter()
    create(kubectl, deployment)
    subprocess.run([*kubectl, "wait", "--for=condition=Ready", "bundledeployment/bench", "--timeout=300s"], check=True)
    return time.perf_counter() - began


def create(kubectl: list[str], body: Mapping[str, object]) -> None:
    subprocess.run([*kubectl, "create", "-f", "-"], input=orjson.dumps(body), check=True, stdout=subprocess.DEVNULL)


def lag(metrics: str) -> str:
    """The smallest bucket that holds 99 of 100 samples."""
    with urllib.request.urlopen(metrics, timeout=5) as answer:  # noqa: S310 - our own operator's URL
        lines = str(answer.read(), "utf-8").splitlines()
    buckets = [line for line in lines if line.startswith("rukpak_event_loop_lag_seconds_bucket")]
    counts = [(line.split('le="')[1].split('"')[0], float(line.rsplit(" ", 1)[1])) for line in buckets]
    total = counts[-1][1]
    return next(bound for bound, count in counts if count >= 0.99 * total)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objects", type=int, default=1000)
    objects = parser.parse_args().objects
    with tempfile.TemporaryDirectory() as folder, ControlPlane.start(Path(folder) / "plane") as plane:
        kubectl = [str(binaries.path("kubectl")), f"--kubeconfig={plane.kubeconfig}"]
        subprocess.run([*kubectl, "apply", "--server-side", "-f", str(ROOT / "config/crds")], check=True)
        subprocess.run([*kubectl, "create", "namespace", "rukpak-system"], check=True)
        with running(kubeconfig=plane.kubeconfig, folder=Path(folder)) as operator:
            floor = asyncio.run(bare(plane.kubeconfig, objects))
            ours = installed(kubectl, objects)
            print(f"{objects} ConfigMaps")
            print(f"bare requests       {floor:6.2f} s")
            print(f"BundleDeployment    {ours:6.2f} s")
            print(f"ratio               {ours / floor:6.2f}")
            print(f"event loop lag, p99 <= {lag(operator.metrics)} s")


if __name__ == "__main__":
    main()

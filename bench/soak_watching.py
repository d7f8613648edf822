"""Observations of a soak: memory by time, Warning Events, and the objects that are not as their content says."""

import asyncio
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import orjson

from bench.process_tree import pss_bytes, rss_bytes
from bench.report import MIB
from bench.soak_actions import Fleet, objects
from bench.workload import INGRESSES, NAMESPACE, SERVICE_ACCOUNTS, SERVICES, WORKLOADS
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CONFIG_MAPS, EVENTS
from tests.integration.listing import listed
from tests.integration.operator.tenant import condition, is_ready

SAMPLE_SECONDS = 10.0
SETTLED_SHARE = 1 / 6  # of the time: caches and the allocator fill in it, and it is no part of the slope
HOUR_SECONDS = 3600.0
APPLIED = (SERVICE_ACCOUNTS, SERVICES, WORKLOADS, INGRESSES, CONFIG_MAPS)
NOT_OURS = {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")}  # of every namespace


@dataclass(frozen=True, kw_only=True)
class Sample:
    seconds: float
    rss: int  # of the operator's process
    pss: int  # with its children


class Memory:
    """Samples of the operator's memory while the block runs."""

    def __init__(self, pid: int) -> None:
        self.samples: list[Sample] = []
        self._pid = pid
        self._began = time.monotonic()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._sample())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _sample(self) -> None:
        while True:
            seconds = time.monotonic() - self._began
            self.samples.append(Sample(seconds=seconds, rss=rss_bytes(self._pid), pss=pss_bytes(self._pid)))
            await asyncio.sleep(SAMPLE_SECONDS)


def slope(samples: Sequence[Sample], *, of_tree: bool = False) -> float:
    """MiB per hour by least squares, of what follows the first sixth of the time."""
    end = samples[-1].seconds
    settled = [one for one in samples if one.seconds >= SETTLED_SHARE * end]
    hours = [one.seconds / HOUR_SECONDS for one in settled]
    return statistics.linear_regression(hours, [(one.pss if of_tree else one.rss) / MIB for one in settled]).slope


class Warnings:
    """Warning Events by reason and kind of object, how often each was told, and the last text of each."""

    def __init__(self, client: Client) -> None:
        self.last: dict[tuple[str, str], str] = {}
        self._counts: dict[str, tuple[tuple[str, str], int]] = {}  # by uid: an Event is told again with a higher count
        self._informer = Informer(client, EVENTS, full=True, keep=False, on_change=self._see)

    @property
    def counts(self) -> Counter[tuple[str, str]]:
        counts: Counter[tuple[str, str]] = Counter()
        for reason, count in self._counts.values():
            counts[reason] += count
        return counts

    async def __aenter__(self) -> Self:
        self._informer.start()
        await self._informer.wait_synced(30)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._informer.stop()

    def _see(self, _key: ObjectKey, _old: LiveObject | None, new: LiveObject | None) -> None:
        if new is None:
            return
        event = orjson.loads(new.json or b"{}")
        if event.get("type") == "Warning":
            about = event["involvedObject"]
            reason = event["reason"], about["kind"]
            self._counts[new.metadata.uid] = reason, event.get("count") or 1
            self.last[reason] = f"{about['name']}: {event['message']}"


async def not_as_wanted(client: Client, fleet: Fleet) -> list[str]:
    """Deployments that are not Ready with their newest content, objects unlike it, and objects left over."""
    found = await _not_ready(client, fleet)
    live = {
        (resource.gvk.kind, one["metadata"]["name"]): one
        for resource in APPLIED
        for one in await listed(client, resource, NAMESPACE)
    }
    wanted = {  # items of a list name no kind
        (manifest["kind"], manifest["metadata"]["name"]): {
            field: value for field, value in manifest.items() if field not in {"apiVersion", "kind"}
        }
        for name in fleet.names
        for _, manifest in objects(name, fleet.versions[name])
    }
    found += [f"{kind} {name} is missing" for kind, name in sorted(wanted.keys() - live.keys())]
    found += [f"{kind} {name} is left over" for kind, name in sorted(live.keys() - wanted.keys() - NOT_OURS)]
    found += [
        f"{kind} {name} differs from its content"
        for kind, name in sorted(wanted.keys() & live.keys())
        if not _includes(live[kind, name], wanted[kind, name])
    ]
    return found


async def _not_ready(client: Client, fleet: Fleet) -> list[str]:
    deployments = await listed(client, BUNDLE_DEPLOYMENTS)
    found = []
    for one in deployments:
        if not is_ready(one):
            ready = condition(one, "Ready")
            found.append(f"{one['metadata']['name']} is not Ready: {ready.get('reason')}: {ready.get('message')}")
    missing = set(fleet.names) - {one["metadata"]["name"] for one in deployments}
    found += [f"{name} is missing" for name in sorted(missing)]
    bundles = len(await listed(client, BUNDLES))
    return found if bundles == len(deployments) else [*found, f"{bundles} Bundles for {len(deployments)} deployments"]


def _includes(live: Any, wanted: Any) -> bool:
    match wanted:
        case Mapping():
            return isinstance(live, Mapping) and all(
                key in live and _includes(live[key], value) for key, value in wanted.items()
            )
        case list():
            return (
                isinstance(live, list)
                and len(live) == len(wanted)
                and all(_includes(one, other) for one, other in zip(live, wanted, strict=True))
            )
        case _:
            return bool(live == wanted)

"""One of the two clusters: what a chart has in it, and pods that end without a node."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import orjson

from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import KindNotServedError, NotFoundError
from rukpak_py.kube.resources import NAMESPACES, PODS, Resource
from tests.helm_oracle.snapshot import Document, Snapshot, key_of, snapshot_of
from tests.integration.listing import listed

AT_ONCE = 8
INTERVAL_SECONDS = 0.1


class Cluster:
    def __init__(self, client: Client, *, is_shared: bool = False) -> None:
        """`is_shared`: other clients make objects, too; only those in the namespace of the chart are looked at."""
        self.client = client
        self._is_shared = is_shared
        self._discovery = Discovery(client)
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._before = frozenset[ObjectKey]()

    async def begin(self, namespace: str) -> None:
        """With an empty namespace; what has none and is there already is not the chart's."""
        await self.client.create(NAMESPACES, "", orjson.dumps({"metadata": {"name": namespace}}))
        self._before = frozenset({key_of(one) for one in await self._wide()})

    async def snapshot(self, namespace: str) -> Snapshot:
        wide, inside = await asyncio.gather(self._wide(), self._documents(namespace))
        return snapshot_of([*(one for one in wide if key_of(one) not in self._before), *inside])

    @asynccontextmanager
    async def ending_pods(self, namespace: str) -> AsyncIterator[None]:
        """Each pod of a Job, and each bare one, succeeds: no node runs it."""
        task = asyncio.create_task(self._end_pods(namespace))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def api_versions(self) -> list[str]:
        """As `.Capabilities.APIVersions` has them."""
        await self._discovery.refresh()
        kinds = self._discovery.served.resources
        return sorted({form for kind in kinds for form in (kind.api_version, f"{kind.api_version}/{kind.kind}")})

    async def version(self) -> str:
        return str(orjson.loads((await self.client.raw_get("/version")).body)["gitVersion"])

    async def _end_pods(self, namespace: str) -> None:
        body = json.dumps({"status": {"phase": "Succeeded"}}).encode()
        while True:
            for pod in await listed(self.client, PODS, namespace, field_selector="status.phase=Pending"):
                if pod["spec"].get("restartPolicy") != "Always":
                    with suppress(NotFoundError):
                        await self.client.patch_status(PODS, namespace, pod["metadata"]["name"], body)
            await asyncio.sleep(INTERVAL_SECONDS)

    async def _wide(self) -> list[Document]:
        return [] if self._is_shared else await self._documents("")

    async def _documents(self, namespace: str) -> list[Document]:
        """Objects of all kinds that have a namespace, or of all that have none."""
        await self._discovery.refresh()
        served = self._discovery.served.preferred.values()
        wanted: Callable[[Resource], bool] = lambda one: one.namespaced is bool(namespace)  # noqa: E731 - for two uses
        found = await asyncio.gather(
            *(self._list(one, namespace) for one in served if wanted(one) and "list" in one.verbs)
        )
        return [document for documents in found for document in documents]

    async def _list(self, resource: Resource, namespace: str) -> list[Document]:
        async with self._slots:
            try:
                items: list[dict[str, Any]] = await listed(self.client, resource, namespace)
            except (KindNotServedError, NotFoundError):  # it went meanwhile
                return []
        head = {"apiVersion": resource.gvk.api_version, "kind": resource.gvk.kind}
        return [{**head, **item} for item in items]

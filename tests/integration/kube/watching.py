"""An informer under observation, and clients that reach the server through a proxy."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.kube.informer import Informer, InformerSettings
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import Resource
from tests.integration.kube.proxy import Proxy, proxy_to
from tests.waiting import PATIENCE_SECONDS

QUICK = InformerSettings(first_wait=0.05, longest_wait=0.5, spread_seconds=0.1)


class Observed:
    """Changes that an informer reported, as (name, change) with added, changed or deleted."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def __call__(self, key: ObjectKey, old: LiveObject | None, new: LiveObject | None) -> None:
        what = "deleted" if new is None else "added" if old is None else "changed"
        self.told.append((key.name, what))

    def __contains__(self, item: tuple[str, str]) -> bool:
        return item in self.told


@asynccontextmanager
async def informing(
    client: Client, resource: Resource, *, settings: InformerSettings = QUICK, **kwargs: Any
) -> AsyncIterator[tuple[Informer, Observed]]:
    observed = Observed()
    informer = Informer(client, resource, on_change=observed, settings=settings, **kwargs)
    informer.start()
    try:
        await informer.wait_synced(PATIENCE_SECONDS)
        yield informer, observed
    finally:
        await informer.stop()


@asynccontextmanager
async def through_proxy(kubeconfig: Path) -> AsyncIterator[tuple[Client, Proxy]]:
    connection = await load_connection(kubeconfig)
    async with proxy_to(connection.server) as proxy:
        client = Client(replace(connection, server=f"https://127.0.0.1:{proxy.port}"), timeout=5)
        async with client:
            yield client, proxy


@asynccontextmanager
async def informing_through_proxy(
    kubeconfig: Path,
    resource: Resource,
    **kwargs: Any,
) -> AsyncIterator[tuple[Informer, Observed, Proxy]]:
    async with through_proxy(kubeconfig) as (client, proxy), informing(client, resource, **kwargs) as (informer, told):
        yield informer, told, proxy

"""The watch of unpack pods: as long as it is needed, with what it saw go; and what stands against pods at all."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from rukpak_py.controllers.bundle.unpack_pods import UnpackPodWatch
from rukpak_py.core.errors import AccessError, UnavailableError
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import PODS, SECRETS
from rukpak_py.sources.source import PodClaim
from tests.integration.conftest import NODES
from tests.waiting import eventually


def manifest(name: str, owner: dict[str, object]) -> bytes:
    """A pod that no scheduler looks at, with an owner that exists."""
    metadata = {"name": name, "labels": {"core.rukpak.io/owner-kind": "Bundle"}, "ownerReferences": [owner]}
    spec = {"schedulerName": "nobody", "containers": [{"name": "c", "image": "localhost/never-pulled"}]}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}).encode()


@asynccontextmanager
async def watching(client: Client, namespace: str) -> AsyncIterator[tuple[UnpackPodWatch, list[str]]]:
    told: list[str] = []
    watch = UnpackPodWatch(client, namespace, on_change=told.append, idle_seconds=0.2, sync_seconds=2)
    try:
        yield watch, told
    finally:
        await watch.close()


async def owner_of(client: Client, namespace: str) -> dict[str, object]:
    """A Secret of the namespace."""
    made = await client.create(SECRETS, namespace, json.dumps({"metadata": {"name": uuid.uuid4().hex}}).encode())
    return {"apiVersion": "v1", "kind": "Secret", "controller": True, "name": made.key.name, "uid": made.metadata.uid}


async def test_watch_runs_as_long_as_there_are_pods(client: Client, namespace: str) -> None:
    owner = await owner_of(client, namespace)
    async with watching(client, namespace) as (watch, told):
        await watch.watch()
        assert (watch.is_in_step(), watch.get("a")) == (True, None)
        assert await watch.create(manifest("a", owner))
        await until(lambda: watch.get("a") is not None)
        assert not await watch.create(manifest("a", owner))
        uid = (await client.get_metadata(PODS, namespace, "a")).uid
        assert await watch.claim("a") == PodClaim(uid=uid, owner=str(owner["uid"]), is_watched=True)
        await asyncio.sleep(0.5)  # longer than it runs without pods
        assert watch.is_in_step()
        await watch.delete("a", "another")
        await watch.delete("a", uid)
        await watch.delete("a", uid)
        await until(lambda: watch.informer is None)
        assert set(told) == {"a"}
        assert watch.was_deleted("a", str(owner["uid"]))
        assert not watch.was_deleted("a", "the Bundle that has the name now")
        assert (watch.is_in_step(), await watch.claim("a")) == (False, None)
        await watch.watch()
        assert watch.is_in_step()


async def test_a_pod_that_lost_its_label_is_not_watched(client: Client, namespace: str) -> None:
    async with watching(client, namespace) as (watch, _):
        await watch.watch()
        await watch.create(manifest("a", await owner_of(client, namespace)))
        await client.patch(PODS, namespace, "a", b'{"metadata":{"labels":null}}')
        await until(lambda: watch.get("a") is None)
        claim = await watch.claim("a")
        assert claim is not None
        assert not claim.is_watched


async def test_watch_without_permissions_is_told(client: Client, namespace: str) -> None:
    unprivileged = client.acting_as(f"system:serviceaccount:{namespace}:nobody")
    async with watching(unprivileged, namespace) as (watch, _):
        with pytest.raises(UnavailableError, match=r'unpack pods: cannot watch pods: .*cannot \w+ resource "pods"'):
            await watch.watch()
        with pytest.raises(AccessError, match='cannot create resource "pods"'):
            await watch.create(manifest("a", await owner_of(client, namespace)))
        assert await watch.obstacle() == "", "nodes may not be listed, and may be there"


async def test_a_cluster_without_nodes_runs_no_pods(client: Client, namespace: str) -> None:
    nodes = (await client.list_metadata(NODES)).items
    async with watching(client, namespace) as (watch, _):
        assert await watch.obstacle() == ("" if nodes else "the cluster has no node")


async def until(look: Callable[[], bool]) -> None:
    async def is_so() -> bool:
        return look()

    await eventually(is_so, what="what the watch shows")

"""A fenced client reads as ever and sends no write when its fence is shut, not even another try."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from aiohttp import web

from rukpak_py.core.errors import UnavailableError
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import CONFIG_MAPS
from tests.unit.kube.fake_api import serving

OBJECT = (
    b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"1"}}'
)
WRITES: list[Callable[[Client], Coroutine[Any, Any, object]]] = [
    lambda client: client.create(CONFIG_MAPS, "n", OBJECT),
    lambda client: client.apply(CONFIG_MAPS, "n", "a", OBJECT, field_manager="m", force=True),
    lambda client: client.patch(CONFIG_MAPS, "n", "a", OBJECT),
    lambda client: client.patch_status(CONFIG_MAPS, "n", "a", OBJECT),
    lambda client: client.replace(CONFIG_MAPS, "n", "a", OBJECT),
    lambda client: client.delete(CONFIG_MAPS, "n", "a"),
]


def answer(status: int = 200) -> web.Response:
    return web.Response(status=status, body=OBJECT, headers={"Content-Type": "application/json"})


def shut() -> None:
    raise UnavailableError("shut")


@pytest.mark.parametrize("write", WRITES)
async def test_a_shut_fence_lets_no_write_through(write: Callable[[Client], Coroutine[Any, Any, object]]) -> None:
    async with serving(answer()) as (client, api):
        fenced = client.fenced(shut)
        for one in (fenced, fenced.acting_as("system:serviceaccount:n:a")):
            with pytest.raises(UnavailableError, match="shut"):
                await write(one)
        assert api.seen == []


async def test_reading_is_no_write() -> None:
    async with serving(answer()) as (client, api):
        fenced = client.fenced(shut)
        await fenced.get(CONFIG_MAPS, "n", "a")
        await fenced.list_metadata(CONFIG_MAPS, "n")
        assert len(api.seen) == 2


async def test_client_without_the_fence_writes_on() -> None:
    async with serving(answer()) as (client, api):
        client.fenced(shut)
        await client.replace(CONFIG_MAPS, "n", "a", OBJECT)
        assert len(api.seen) == 1


async def test_the_fence_is_asked_before_each_try() -> None:
    async with serving(answer(503)) as (client, api):

        def shut_after_the_first() -> None:
            if api.seen:
                shut()

        with pytest.raises(UnavailableError, match="shut"):
            await client.fenced(shut_after_the_first).apply(
                CONFIG_MAPS, "n", "a", OBJECT, field_manager="m", force=True
            )
        assert len(api.seen) == 1

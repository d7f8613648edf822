"""Admission requests at a steady rate, each of which the webhook has to answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import orjson

from rukpak_py.api.names import API_VERSION
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.resources import BUNDLES
from tests.waiting import eventually, until

PER_SECOND = 20
CREATED = "created"
REACHED = 'admission webhook "vbundles.core.rukpak.io" denied the request'


def denied_bundle() -> bytes:
    """The webhook refuses it: its answer shows that it was reached."""
    items = [{"path": "../outside", "configMap": {"name": "outside"}}]
    spec = {"provisionerClassName": "nobody", "source": {"type": "configMaps", "configMaps": items}}
    document = {"apiVersion": API_VERSION, "kind": "Bundle", "metadata": {"name": "outside"}, "spec": spec}
    return orjson.dumps(document)


async def answer_to_a_bundle(client: Client) -> str:
    """The answer of the API server to a Bundle that the webhook denies."""
    try:
        await client.create(BUNDLES, "", denied_bundle(), dry_run=True)
    except ApiError as error:
        return str(error)
    return CREATED


async def until_reached(client: Client) -> None:
    """A changed configuration reaches the API server's own cache in its own time."""

    async def is_reached() -> bool:
        return REACHED in await answer_to_a_bundle(client)

    await eventually(is_reached, what="the webhook is called")


async def until_unguarded(client: Client) -> None:
    """No webhook is called any more."""

    async def is_unguarded() -> bool:
        return await answer_to_a_bundle(client) == CREATED

    await eventually(is_unguarded, what="no webhook is called")


class Traffic:
    def __init__(self, client: Client) -> None:
        self.reached = 0
        self.refused: list[str] = []  # answers that are not the webhook's
        self._client = client

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        await until_reached(self._client)
        task = asyncio.create_task(self._send())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def passed(self, count: int) -> None:
        """So many more requests were answered by the webhook."""
        goal = self.reached + count
        await until(lambda: self.refused or self.reached >= goal)
        assert not self.refused, self.refused[0]

    async def _send(self) -> None:
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            while True:
                due = loop.time() + 1 / PER_SECOND
                group.create_task(self._one())
                await asyncio.sleep(due - loop.time())

    async def _one(self) -> None:
        answer = await answer_to_a_bundle(self._client)
        if REACHED in answer:
            self.reached += 1
        else:
            self.refused.append(answer)

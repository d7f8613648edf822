"""A room for each test."""

from collections.abc import AsyncIterator

import pytest

from rukpak_py.kube.client import Client
from tests.integration.apply.room import Room
from tests.integration.definitions import definitions, install


@pytest.fixture
async def room(client: Client, namespace: str) -> AsyncIterator[Room]:
    await install(client, definitions())
    room = await Room.open(client, namespace)
    yield room
    await room.close()

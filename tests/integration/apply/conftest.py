"""A room for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rukpak_py.kube.client import Client
from tests.integration.apply.room import Room
from tests.integration.definitions import definitions, install

_installed: set[Path] = set()


@pytest.fixture
async def room(client: Client, namespace: str, kubeconfig: Path) -> AsyncIterator[Room]:
    if kubeconfig not in _installed:  # once for each worker: it is the dearest call of them all
        await install(client, definitions())
        _installed.add(kubeconfig)
    room = await Room.open(client, namespace)
    yield room
    await room.close()

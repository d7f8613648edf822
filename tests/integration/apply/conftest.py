"""A room for each test."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import CRDS
from tests.integration.apply.room import Room
from tests.integration.apply.signing import Signing, signing
from tests.integration.definitions import definitions, install

NO_CONVERSION = orjson.dumps({"spec": {"conversion": {"strategy": "None", "webhook": None}}})
_installed: set[Path] = set()


@pytest.fixture
async def room(client: Client, namespace: str, kubeconfig: Path) -> AsyncIterator[Room]:
    if kubeconfig not in _installed:  # once for each worker: it is the dearest call of them all
        await install(client, definitions())
        _installed.add(kubeconfig)
    room = await Room.open(client, namespace)
    yield room
    await room.close()


@pytest.fixture
async def group(room: Room) -> AsyncIterator[str]:
    """A group of one's own; its definition goes at the end."""
    name = f"g{uuid.uuid4().hex[:8]}.rooms.test"
    yield name
    try:
        # With a broken conversion webhook it could never go, and the end of every namespace would wait for it.
        await room.client.patch(CRDS, "", f"things.{name}", NO_CONVERSION, field_manager="somebody")
        await room.client.delete(CRDS, "", f"things.{name}")
    except NotFoundError:
        return


@pytest.fixture
async def signer(room: Room, kubeconfig: Path) -> AsyncIterator[Signing]:
    async with signing(room, kubeconfig) as opened:
        yield opened

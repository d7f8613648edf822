"""The union of an APIService, on a control plane of its own: one without its server stops others' deletions."""

import uuid
from base64 import b64encode
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from rukpak_py.core.x509 import issue_ca
from rukpak_py.kube.client import Client
from tests.integration.apply.room import Manifest, Room
from tests.integration.apply.switched_unions import Put, at
from tests.integration.apply.test_unions import another_client_writes, upgraded
from tests.manifests import manifest

CA_BUNDLE = b64encode(issue_ca(datetime.now(UTC)).certificate).decode()
SERVICE = {"name": "a", "namespace": "a"}


@pytest.fixture
async def room(admin: Client, namespace_there: str) -> AsyncIterator[Room]:
    room = await Room.open(admin, namespace_there)
    yield room
    await room.close()


@pytest.fixture
async def group(room: Room) -> AsyncIterator[str]:
    name = f"g{uuid.uuid4().hex[:8]}.rooms.test"
    yield name
    await room.another_client_deletes(api_service(name))


def api_service(group: str, **spec: object) -> Manifest:
    whole = {"group": group, "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 1, **spec}
    return manifest("apiregistration.k8s.io/v1", "APIService", f"v1.{group}", spec=whole)


@pytest.mark.parametrize(
    "change", [at("spec", caBundle=CA_BUNDLE), at("spec", "service", port=8443)], ids=["authority", "port"]
)
async def test_api_service_becomes_local_although_another_client_set_a_field(
    room: Room, group: str, change: Put
) -> None:
    old, new = api_service(group, service=SERVICE), api_service(group)
    await room.installed(old)
    await another_client_writes(room, old, change)
    await upgraded(room, new)
    assert (await room.read(new))["spec"].keys().isdisjoint({"service", "caBundle"})


async def test_an_authority_goes_when_none_is_to_be_checked(room: Room, group: str) -> None:
    old = api_service(group, service=SERVICE)
    new = api_service(group, service=SERVICE, insecureSkipTLSVerify=True)
    await room.installed(old)
    await another_client_writes(room, old, at("spec", caBundle=CA_BUNDLE))
    await upgraded(room, new)
    assert "caBundle" not in (await room.read(new))["spec"]

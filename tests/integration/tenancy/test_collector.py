"""The garbage collector does its work under the policies, as an exempt account."""

import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.policies.document import Document
from tests.integration.tenancy.attempts import Room, owner
from tests.waiting import eventually

pytestmark = pytest.mark.parametrize("setting", ["narrow"], indirect=True)


async def gone(room: Room, body: Document) -> None:
    async def is_gone() -> bool:
        return await room.live(body) is None

    await eventually(is_gone, what=f"{body['kind']} {body['metadata']['name']} is collected")


def named(body: Document, end: str) -> Document:
    body["metadata"]["name"] += end
    return body


async def owned_bundle(room: Room, deployment: Document, *, blocks: bool = False) -> Document:
    reference = owner(deployment, controller=True, blockOwnerDeletion=blocks)
    return await room.made(room.bundle(labels=room.labels(), ownerReferences=[reference]))


async def test_a_deployment_with_an_account_goes_with_its_owner(plane: ControlPlane, setting: str, room: Room) -> None:
    root = await room.made(named(room.bundle(), "-root"))
    deployment = await room.base(metadata={"ownerReferences": [owner(root)]})
    await room.delete("", root)
    await gone(room, deployment)


async def test_a_deployment_with_a_dead_owner_goes(plane: ControlPlane, setting: str, room: Room) -> None:
    await gone(room, await room.base(metadata={"ownerReferences": [owner()]}))


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
async def test_bundles_go_with_their_deployment(plane: ControlPlane, setting: str, room: Room, policy: str) -> None:
    deployment = await room.base()
    bundle = await owned_bundle(room, deployment, blocks=True)
    await room.delete("", deployment, f"?propagationPolicy={policy}")
    await gone(room, bundle)
    await gone(room, deployment)


async def test_the_reference_to_an_owner_that_is_gone_is_dropped(plane: ControlPlane, setting: str, room: Room) -> None:
    first, second = await room.made(named(room.bundle(), "-1")), await room.made(named(room.bundle(), "-2"))
    deployment = await room.base(metadata={"ownerReferences": [owner(first), owner(second)]})
    await room.delete("", first)

    async def has_one() -> bool:
        live = await room.live(deployment)
        assert live is not None
        return len(live["metadata"]["ownerReferences"]) == 1

    await eventually(has_one, what="one reference is left")


async def test_bundles_are_orphaned(plane: ControlPlane, setting: str, room: Room) -> None:
    deployment = await room.base()
    bundle = await owned_bundle(room, deployment)
    await room.delete("", deployment, "?propagationPolicy=Orphan")
    await gone(room, deployment)
    live = await room.live(bundle)
    assert live is not None
    assert "ownerReferences" not in live["metadata"]

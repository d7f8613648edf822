"""Deleting exactly the object that was meant."""

import orjson
import pytest

from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError, StaleError
from rukpak_py.kube.resources import CONFIG_MAPS, SERVICE_ACCOUNTS
from tests.integration.kube.objects import config_map


async def test_with_the_right_uid_it_is_gone(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, namespace, config_map("a"))

    assert await client.delete(CONFIG_MAPS, namespace, "a", uid=created.metadata.uid) is None
    with pytest.raises(NotFoundError):
        await client.get(CONFIG_MAPS, namespace, "a")


async def test_another_object_of_the_same_name_is_spared(client: Client, namespace: str) -> None:
    first = await client.create(CONFIG_MAPS, namespace, config_map("a"))
    await client.delete(CONFIG_MAPS, namespace, "a")
    second = await client.create(CONFIG_MAPS, namespace, config_map("a"))

    with pytest.raises(StaleError, match="UID in the precondition"):
        await client.delete(CONFIG_MAPS, namespace, "a", uid=first.metadata.uid)

    assert (await client.get_metadata(CONFIG_MAPS, namespace, "a")).uid == second.metadata.uid


async def test_an_object_that_changed_is_spared(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, namespace, config_map("a"))
    await client.patch(CONFIG_MAPS, namespace, "a", b'{"data":{"v":"1"}}')

    with pytest.raises(StaleError, match="ResourceVersion in the precondition"):
        await client.delete(CONFIG_MAPS, namespace, "a", resource_version=created.metadata.resource_version)


async def test_object_with_finalizers_is_still_there_after_its_deletion(client: Client, namespace: str) -> None:
    body = orjson.loads(config_map("a"))
    body["metadata"]["finalizers"] = ["rukpak.test/hold"]
    await client.create(CONFIG_MAPS, namespace, orjson.dumps(body))

    left = await client.delete(CONFIG_MAPS, namespace, "a")

    assert left is not None
    assert left.is_deleted
    assert left.finalizers == ["rukpak.test/hold"]
    applied = await client.apply(CONFIG_MAPS, namespace, "a", config_map("a"), field_manager="us", force=True)
    assert (applied.status, applied.metadata.is_deleted) == (200, True)  # the server takes it: callers have to look
    await client.patch(CONFIG_MAPS, namespace, "a", b'{"metadata":{"finalizers":null}}')


async def test_kinds_whose_delete_answers_the_object_are_gone_too(client: Client, namespace: str) -> None:
    body = orjson.dumps({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}})
    await client.create(SERVICE_ACCOUNTS, namespace, body)

    assert await client.delete(SERVICE_ACCOUNTS, namespace, "a") is None


async def test_a_missing_object_is_not_found(client: Client, namespace: str) -> None:
    with pytest.raises(NotFoundError):
        await client.delete(CONFIG_MAPS, namespace, "a", uid="x")


async def test_a_dry_run_deletes_nothing(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, namespace, config_map("a"))
    await client.delete(CONFIG_MAPS, namespace, "a", dry_run=True)

    assert (await client.get_metadata(CONFIG_MAPS, namespace, "a")).name == "a"

"""Answers of a server-side apply, and the meaning of its refusals."""

import orjson
import pytest

from rukpak_py.core.errors import ConflictError
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import FieldConflictError, InvalidError, NotFoundError, SchemaError, TooLargeError
from rukpak_py.kube.metadata import decode_metadata, field_hash
from rukpak_py.kube.resources import CONFIG_MAPS
from tests.integration.kube.objects import DEPLOYMENTS, config_map, deployment


async def test_creating_and_changing_answer_201_then_200_with_metadata_only(client: Client, namespace: str) -> None:
    first = await client.apply(CONFIG_MAPS, namespace, "a", config_map("a", v="1"), field_manager="us", force=False)
    again = await client.apply(CONFIG_MAPS, namespace, "a", config_map("a", v="2"), field_manager="us", force=False)

    assert (first.status, first.created) == (201, True)
    assert (again.status, again.created) == (200, False)
    assert first.object.json is None
    assert first.object.key == ("", "ConfigMap", namespace, "a")
    assert again.metadata.uid == first.metadata.uid
    assert again.metadata.version > first.metadata.version
    assert not again.resent


async def test_an_unchanged_apply_writes_nothing(client: Client, namespace: str) -> None:
    body = config_map("a", v="1")
    first = await client.apply(CONFIG_MAPS, namespace, "a", body, field_manager="us", force=False)
    again = await client.apply(CONFIG_MAPS, namespace, "a", body, field_manager="us", force=False)

    assert again.metadata.resource_version == first.metadata.resource_version


async def test_the_hash_of_our_fields_is_equal_in_every_kind_of_answer(client: Client, namespace: str) -> None:
    applied = await client.apply(DEPLOYMENTS, namespace, "d", deployment("d"), field_manager="us", force=False)
    read = await client.get_metadata(DEPLOYMENTS, namespace, "d")
    listed = (await client.list_metadata(DEPLOYMENTS, namespace)).items[0].metadata
    whole = decode_metadata(await client.get(DEPLOYMENTS, namespace, "d"))
    ours = field_hash(applied.metadata, "us")

    assert ours is not None
    assert {field_hash(metadata, "us") for metadata in (read, listed, whole)} == {ours}


async def test_a_foreign_change_of_our_field_changes_the_hash_and_another_field_does_not(
    client: Client, namespace: str
) -> None:
    applied = await client.apply(CONFIG_MAPS, namespace, "a", config_map("a", v="1"), field_manager="us", force=False)
    added = await client.patch(CONFIG_MAPS, namespace, "a", b'{"data":{"w":"2"}}', field_manager="them")
    taken = await client.patch(CONFIG_MAPS, namespace, "a", b'{"data":{"v":"3"}}', field_manager="them")
    ours = field_hash(applied.metadata, "us")

    assert field_hash(added.metadata, "us") == ours
    assert field_hash(taken.metadata, "us") != ours


async def test_the_same_manager_by_update_is_another_entry(client: Client, namespace: str) -> None:
    await client.apply(CONFIG_MAPS, namespace, "a", config_map("a", v="1"), field_manager="us", force=False)
    updated = await client.patch(CONFIG_MAPS, namespace, "a", b'{"data":{"w":"2"}}', field_manager="us")

    by_apply = [e.fields_v1 for e in updated.metadata.managed_fields if (e.manager, e.operation) == ("us", "Apply")]
    assert len(updated.metadata.managed_fields) == 2
    assert b"f:w" not in bytes(by_apply[0])


async def test_a_conflict_names_every_manager_and_field(client: Client, namespace: str) -> None:
    await client.apply(CONFIG_MAPS, namespace, "a", config_map("a", v="1"), field_manager="helm", force=False)
    await client.apply(CONFIG_MAPS, namespace, "a", config_map("a", w="1"), field_manager="kubectl", force=False)

    with pytest.raises(FieldConflictError) as caught:
        await client.apply(CONFIG_MAPS, namespace, "a", config_map("a", v="2", w="2"), field_manager="us", force=False)

    assert all(word in str(caught.value) for word in ("helm", "kubectl", ".data.v", ".data.w"))
    assert isinstance(caught.value, ConflictError)
    assert str(caught.value).startswith(f"apply ConfigMap {namespace}/a: Apply failed with 2 conflicts")


async def test_force_takes_the_fields_over(client: Client, namespace: str) -> None:
    await client.apply(CONFIG_MAPS, namespace, "a", config_map("a", v="1"), field_manager="helm", force=False)
    taken = await client.apply(CONFIG_MAPS, namespace, "a", config_map("a", v="2"), field_manager="us", force=True)

    assert field_hash(taken.metadata, "us") is not None
    assert field_hash(taken.metadata, "helm") is None


async def test_a_dry_run_changes_nothing(client: Client, namespace: str) -> None:
    tried = await client.apply(
        CONFIG_MAPS, namespace, "a", config_map("a"), field_manager="us", force=False, dry_run=True
    )

    assert tried.created
    with pytest.raises(NotFoundError, match='configmaps "a" not found'):
        await client.get(CONFIG_MAPS, namespace, "a")


async def test_an_unknown_field_is_named_and_terminal(client: Client, namespace: str) -> None:
    body = orjson.loads(deployment("d"))
    body["spec"]["nonsense"] = True

    with pytest.raises(SchemaError, match="failed to create typed patch object") as caught:
        await client.apply(DEPLOYMENTS, namespace, "d", orjson.dumps(body), field_manager="us", force=False)

    assert caught.value.unknown_fields == (".spec.nonsense",)
    assert caught.value.status == 500


async def test_a_missing_namespace_is_not_found_and_names_it(client: Client) -> None:
    with pytest.raises(NotFoundError, match='namespaces "no-such-place" not found'):
        await client.apply(CONFIG_MAPS, "no-such-place", "a", config_map("a"), field_manager="us", force=False)


async def test_an_immutable_field_is_invalid(client: Client, namespace: str) -> None:
    await client.apply(DEPLOYMENTS, namespace, "d", deployment("d"), field_manager="us", force=False)

    with pytest.raises(InvalidError, match="field is immutable") as caught:
        await client.apply(DEPLOYMENTS, namespace, "d", deployment("d", app="other"), field_manager="us", force=True)

    assert [cause.field for cause in caught.value.causes]


async def test_an_object_beyond_the_request_limit_is_too_large(client: Client, namespace: str) -> None:
    body = config_map("a", v="x" * 3_200_000)  # the server takes bodies up to 3145728 bytes

    with pytest.raises(TooLargeError):
        await client.apply(CONFIG_MAPS, namespace, "a", body, field_manager="us", force=False)

"""Lists: in pages, of metadata, of a selection."""

import asyncio

from rukpak_py.core.metrics import request_counts
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import CONFIG_MAPS
from tests.integration.kube.objects import config_map

NAMES = [f"c{number}" for number in range(7)]


async def fill(client: Client, namespace: str) -> None:
    bodies = [config_map(name, labels={"odd": str(int(name[1:]) % 2)}, v="x") for name in NAMES]
    await asyncio.gather(*[client.create(CONFIG_MAPS, namespace, body) for body in bodies])


async def test_pages_add_up_and_are_counted(client: Client, namespace: str) -> None:
    await fill(client, namespace)
    before = request_counts()

    # kube-root-ca.crt may or may not be there yet, so the selection leaves it out
    listing = await client.list_metadata(CONFIG_MAPS, namespace, label_selector="odd", page=3)

    assert sorted(live.metadata.name for live in listing.items) == NAMES
    assert request_counts() - before == {("list", "", "configmaps", "", "200"): 3}  # 3 + 3 + 1
    assert int(listing.resource_version) > 0
    assert all(live.json is None for live in listing.items)


async def test_fields_select(client: Client, namespace: str) -> None:
    await fill(client, namespace)

    listing = await client.list_metadata(CONFIG_MAPS, namespace, field_selector="metadata.name=c4")

    assert [live.key.name for live in listing.items] == ["c4"]


async def test_an_empty_list_is_empty(client: Client) -> None:
    assert (await client.list_metadata(CONFIG_MAPS, "no-such-place")).items == []

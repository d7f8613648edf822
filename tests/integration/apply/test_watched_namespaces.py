"""One kind watched in one namespace, as an account sees it that may read nothing else."""

import orjson

from rukpak_py.apply.inventory import Inventory, Watched
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import CONFIG_MAPS, NAMESPACES
from tests.integration.apply.room import Room
from tests.manifests import config_map, manifest
from tests.waiting import until


async def test_watch_of_one_namespace_shows_its_objects_and_no_others(room: Room, client: Client) -> None:
    gone = list[ObjectKey]()
    other = f"{room.namespace}-other"
    await client.create(NAMESPACES, "", orjson.dumps(manifest("v1", "Namespace", other)))
    inventory = Inventory(client, on_change=lambda _uid: None, on_gone=gone.append)
    try:
        inventory.watch([CONFIG_MAPS], room.namespace)
        await until(lambda: inventory.is_listed(CONFIG_MAPS.group_kind, room.namespace))
        await room.installed(config_map("elsewhere", namespace=other), config_map("here"))
        here = CONFIG_MAPS.key(room.namespace, "here")
        await until(lambda: here in inventory.owned_by(room.owner.uid))
        assert list(inventory.owned_by(room.owner.uid)) == [here]

        inventory.watch([CONFIG_MAPS], other)
        elsewhere = CONFIG_MAPS.key(other, "elsewhere")
        await until(lambda: elsewhere in inventory.owned_by(room.owner.uid))
        await client.delete(CONFIG_MAPS, other, "elsewhere")
        await until(lambda: elsewhere in gone)
        await inventory.retain([Watched(CONFIG_MAPS.group_kind, other)])
        assert not inventory.owned_by(room.owner.uid)
    finally:
        await inventory.close()
        await client.delete(NAMESPACES, "", other)

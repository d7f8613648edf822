"""What exists under the names that a deployment wants: from the watch, and by a metadata GET where it cannot tell."""

from collections.abc import Collection, Iterable

from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.live import Live, live_of
from rukpak_py.apply.target import Target, at_once
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError, KindNotServedError, NotFoundError


async def look(
    client: Client,
    inventory: Inventory,
    target: Target,
    keys: Iterable[ObjectKey],
    *,
    new_kinds: Collection[GroupKind],
) -> dict[ObjectKey, Live]:
    """Names of `new_kinds` (the same plan brings them) and names that this attempt found free are not asked for.

    Neither are objects that we applied and that left the watch: they are gone, or their label is; the apply without
    force tells which.
    """
    memory = target.memory
    found: dict[ObjectKey, Live] = {}
    unknown: list[ObjectKey] = []
    for key in keys:
        live = inventory.get(key)
        if live is not None:
            found[key] = live
        elif key not in memory.uids and key not in memory.absent and (key.group, key.kind) not in new_kinds:
            unknown.append(key)

    async def get(key: ObjectKey) -> None:
        live = await _get(client, target, key)
        if live is None:
            memory.absent.add(key)
        else:
            found[key] = live

    await at_once(get, unknown)
    return found


async def still_ours(client: Client, target: Target, keys: Iterable[ObjectKey]) -> list[Live]:
    """Those of these names that are ours by uid although the watch does not show them: a label was stripped."""
    found: list[Live] = []

    async def get(key: ObjectKey) -> None:
        live = await _get(client, target, key)
        if live is not None and live.owner_uid == target.owner.uid:
            found.append(live)

    await at_once(get, keys)
    return sorted(found, key=lambda live: live.key)


async def field_managers(client: Client, target: Target, key: ObjectKey) -> list[str]:
    """Who else writes to the object itself."""
    try:
        metadata = await client.get_metadata(target.resource_of(key), key.namespace, key.name)
    except ApiError:
        return []
    others = {entry.manager for entry in metadata.managed_fields if not entry.subresource}
    return sorted(f'"{name}"' for name in others - {target.owner.manager})


async def _get(client: Client, target: Target, key: ObjectKey) -> Live | None:
    try:
        resource = target.resource_of(key)
        metadata = await client.get_metadata(resource, key.namespace, key.name)
    except (NotFoundError, KindNotServedError):
        return None
    return live_of(key, resource.gvk, metadata)

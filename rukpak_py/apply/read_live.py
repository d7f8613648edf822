"""Live objects under the names that a deployment wants: from the watch, and by a metadata GET where it cannot tell."""

from collections.abc import Iterable

from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.marks import Owner
from rukpak_py.apply.observed_object import ObservedObject, observed_object
from rukpak_py.apply.target import Target
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import KindNotServedError, NotFoundError
from rukpak_py.kube.pace import run_bounded
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS


async def read_live(target: Target, inventory: Inventory, keys: Iterable[ObjectKey]) -> dict[ObjectKey, ObservedObject]:
    """Names that this attempt found free are not asked for again.

    Neither are objects that we applied and that left the watch: they are gone, or their label is; the apply without
    force tells which.
    """
    last_applied = target.last_applied
    found: dict[ObjectKey, ObservedObject] = {}
    unknown: list[ObjectKey] = []
    for key in keys:
        live = inventory.get(key)
        if live is not None:
            found[key] = live
        elif key not in last_applied.uids and key not in last_applied.absent:
            unknown.append(key)

    async def get(key: ObjectKey) -> None:
        live = await _get(target, key)
        if live is None:
            last_applied.absent.add(key)
        else:
            found[key] = live

    await run_bounded(get, unknown)
    return found


async def owned_but_unlabelled(target: Target, keys: Iterable[ObjectKey]) -> list[ObservedObject]:
    """Objects of these names that are proven to be ours though the watch does not show them: a label was stripped."""
    found: list[ObservedObject] = []

    async def get(key: ObjectKey) -> None:
        live = await _get(target, key)
        if live is not None and live.owner_uid == target.owner.uid and live.is_proven_of(target.owner.uid):
            found.append(live)

    await run_bounded(get, keys)
    return sorted(found, key=lambda live: live.key)


async def _get(target: Target, key: ObjectKey) -> ObservedObject | None:
    try:
        resource = target.resource_of(key)
        metadata = await target.client.get_metadata(resource, key.namespace, key.name)
    except (NotFoundError, KindNotServedError):
        return None
    return observed_object(key, resource.gvk, metadata)


async def missing_deployments(client: Client, lives: Iterable[ObservedObject], owner: Owner) -> frozenset[str]:
    """The BundleDeployments that labels name and that do not exist: renamed, or deleted with `--cascade=orphan`.

    One live GET of the metadata for each name, whatever the class of that deployment, and only for names that objects
    without a controller carry. A name that cannot be asked for counts as existing: the error ends the attempt.
    """
    missing: set[str] = set()

    async def get(name: str) -> None:
        try:
            await client.get_metadata(BUNDLE_DEPLOYMENTS, "", name)
        except NotFoundError:
            missing.add(name)

    await run_bounded(get, sorted(deployments_to_ask_for(lives, owner)))
    return frozenset(missing)


def deployments_to_ask_for(lives: Iterable[ObservedObject], owner: Owner) -> set[str]:
    """Names in labels, where the label alone makes the object another deployment's."""
    return {
        live.labelled_for
        for live in lives
        if live.controller is None and live.owner_uid != owner.uid and live.labelled_for not in {"", owner.name}
    }

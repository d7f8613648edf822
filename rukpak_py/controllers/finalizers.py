"""Finalizers: one small write each, on exactly the list that was read."""

from rukpak_py.api.metadata import ObjectMeta
from rukpak_py.controllers.status_write import object_meta
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.client import JSON_PATCH, Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import Resource

ORPHAN = "orphan"  # the collector's, of a deletion that leaves what is owned
FOREGROUND = "foregroundDeletion"  # the collector's, of one that waits for what is owned


async def add_finalizer(client: Client, resource: Resource, metadata: ObjectMeta, finalizer: str) -> ObjectMeta:
    """The metadata after it."""
    return await _write(client, resource, metadata, (*metadata.finalizers, finalizer))


async def remove_finalizer(client: Client, resource: Resource, metadata: ObjectMeta, finalizer: str) -> None:
    try:
        await _write(client, resource, metadata, tuple(one for one in metadata.finalizers if one != finalizer))
    except NotFoundError:
        return


async def _write(client: Client, resource: Resource, metadata: ObjectMeta, finalizers: tuple[str, ...]) -> ObjectMeta:
    """Naming the resourceVersion: a list that somebody else changed meanwhile answers 409 and is read again."""
    patch = [
        {"op": "test", "path": "/metadata/uid", "value": metadata.uid},
        {"op": "add", "path": "/metadata/resourceVersion", "value": metadata.resource_version},
        {"op": "add", "path": "/metadata/finalizers", "value": list(finalizers)},
    ]
    answer = await client.patch(resource, "", metadata.name, canonical_json(patch), content_type=JSON_PATCH)
    return object_meta(answer.metadata)

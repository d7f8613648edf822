"""What is written to our own objects: finalizers, and the status in at most one request, in none when it is the same.

A status patch names the object's uid, so that it never lands on another object of the same name (the server answers
409), and says null for what is no longer there, because a merge patch would keep it.

A list in a merge patch replaces the whole list. Where a lost entry would matter (`status.kinds` says what is pruned,
every list of finalizers), the patch names the resourceVersion too: the server answers 409 when somebody wrote the
object since.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import msgspec

from rukpak_py.api.metadata import ObjectMeta
from rukpak_py.api.reading import to_json
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.client import JSON_PATCH, Client
from rukpak_py.kube.errors import ApiError, NotFoundError, TooLargeError
from rukpak_py.kube.metadata import Metadata
from rukpak_py.kube.resources import Resource

WRITE_INTERVAL_SECONDS = 1.0
_STRING_TOO_LONG = "FieldValueTooLong"


def merge_patch(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The merge patch (RFC 7386) that makes `new` of `old`."""
    patch: dict[str, Any] = dict.fromkeys(old.keys() - new.keys())
    for name, value in new.items():
        known = old.get(name)
        if isinstance(value, dict) and isinstance(known, dict):
            nested = merge_patch(known, value)
            if nested:
                patch[name] = nested
        elif value != known:
            patch[name] = value
    return patch


async def write_status(
    client: Client,
    resource: Resource,
    metadata: ObjectMeta,
    old: msgspec.Struct,
    new: msgspec.Struct,
    *,
    if_unchanged: bool = False,
) -> ObjectMeta | None:
    """The metadata after the write; None when there was nothing to write. `if_unchanged`: only on what was read.

    It is all that the server answers, so whoever keeps a copy must look at its generation: with another one the spec
    changed meanwhile, and the copy must wait for the event that brings the new spec.
    """
    patch = merge_patch(to_json(old), to_json(new))
    if not patch:
        return None
    preconditions = {"uid": metadata.uid}
    if if_unchanged:
        preconditions["resourceVersion"] = metadata.resource_version
    body = canonical_json({"metadata": preconditions, "status": patch})
    answer = await client.patch_status(resource, "", metadata.name, body)
    return object_meta(answer.metadata)


def is_too_large(error: ApiError) -> bool:
    """Whether the server refused an object for its size: as a whole, or one of its strings."""
    return isinstance(error, TooLargeError) or any(cause.reason == _STRING_TOO_LONG for cause in error.causes)


class StatusPace:
    """How often a status is written: the first change after a quiet second at once, later ones at the end of it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._written_at: OrderedDict[str, float] = OrderedDict()  # by uid, the latest last

    def due(self, uid: str) -> float:
        """When the next one may be written; it may be in the past."""
        return self._written_at.get(uid, float("-inf")) + WRITE_INTERVAL_SECONDS

    def written(self, uid: str) -> None:
        """What is older than the interval says nothing any more."""
        now = self._clock()
        self._written_at[uid] = now
        self._written_at.move_to_end(uid)
        while self._written_at and now - next(iter(self._written_at.values())) >= WRITE_INTERVAL_SECONDS:
            self._written_at.popitem(last=False)

    def forget(self, uid: str) -> None:
        self._written_at.pop(uid, None)


async def add_finalizer(client: Client, resource: Resource, metadata: ObjectMeta, finalizer: str) -> ObjectMeta:
    """The metadata after it."""
    return await _write_finalizers(client, resource, metadata, (*metadata.finalizers, finalizer))


async def remove_finalizer(client: Client, resource: Resource, metadata: ObjectMeta, finalizer: str) -> None:
    try:
        others = tuple(one for one in metadata.finalizers if one != finalizer)
        await _write_finalizers(client, resource, metadata, others)
    except NotFoundError:
        return


async def _write_finalizers(
    client: Client, resource: Resource, metadata: ObjectMeta, finalizers: tuple[str, ...]
) -> ObjectMeta:
    patch = [
        {"op": "test", "path": "/metadata/uid", "value": metadata.uid},
        {"op": "add", "path": "/metadata/resourceVersion", "value": metadata.resource_version},
        {"op": "add", "path": "/metadata/finalizers", "value": list(finalizers)},
    ]
    answer = await client.patch(resource, "", metadata.name, canonical_json(patch), content_type=JSON_PATCH)
    return object_meta(answer.metadata)


def object_meta(metadata: Metadata) -> ObjectMeta:
    """What the server answered, in the API's own type."""
    return ObjectMeta(
        name=metadata.name,
        uid=metadata.uid,
        generation=metadata.generation,
        resource_version=metadata.resource_version,
        creation_timestamp=metadata.creation_timestamp,
        deletion_timestamp=metadata.deletion_timestamp,
        labels=metadata.labels,
        annotations=metadata.annotations,
        finalizers=tuple(metadata.finalizers),
        owner_references=tuple(metadata.owner_references),
    )

"""Status writes: at most one request, and none when nothing changed.

The patch names the object's uid, so that a status never lands on another object of the same name (the server answers
409), and says null for what is no longer there, because a merge patch would keep it.

A list in a merge patch replaces the whole list. Where a lost entry would matter (`status.kinds` says what is pruned),
the patch names the resourceVersion too: the server answers 409 when somebody wrote the object since.
"""

from typing import Any

import msgspec

from rukpak_py.api.metadata import ObjectMeta, OwnerReference
from rukpak_py.api.reading import to_json
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.client import Client
from rukpak_py.kube.metadata import Metadata
from rukpak_py.kube.resources import Resource


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
        owner_references=tuple(
            OwnerReference(
                api_version=owner.api_version,
                kind=owner.kind,
                name=owner.name,
                uid=owner.uid,
                controller=bool(owner.controller),
                block_owner_deletion=bool(owner.block_owner_deletion),
            )
            for owner in metadata.owner_references
        ),
    )

"""Owner annotations in place of the owner references that earlier releases wrote on Namespaces, CRDs, claims, volumes.

The garbage collector takes whatever has the reference when the deployment goes, and asks for no policy. Nothing is
applied for this: one patch takes the reference off and puts the annotations on; the next moves these, in
`managedFields`, from the `Update` entry that the first leaves into our `Apply` entry, where an apply would have put
them: an annotation that is dropped later would stay otherwise. Both name the version that was read.
"""

from contextlib import suppress
from typing import Any

from rukpak_py.api.names import DELETION_POLICY_ANNOTATION, OWNER_UID_ANNOTATION
from rukpak_py.apply.field_paths import FieldSet, subtract, union
from rukpak_py.apply.marks import DELETE, holds_what_cannot_be_had_again
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.target import Target
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.client import JSON_PATCH
from rukpak_py.kube.errors import StaleError
from rukpak_py.kube.metadata import Entry, LiveObject, Metadata, entry_with, fields_in, is_ours

LOOKS = 3  # at an object that moves
_MARKS: FieldSet = {
    "f:metadata": {"f:annotations": {f"f:{OWNER_UID_ANNOTATION}": {}, f"f:{DELETION_POLICY_ANNOTATION}": {}}}
}


def has_former_form(live: ObservedObject, owner_uid: str) -> bool:
    lasts = holds_what_cannot_be_had_again(live.gvk.group_kind) and not live.outlives
    is_ours = live.owner_uid == owner_uid and live.is_proven_of(owner_uid)
    return lasts and is_ours and (live.controller is not None or live.is_half_converted) and not live.is_deleted


async def annotate(target: Target, live: ObservedObject) -> LiveObject:
    """The object after it; as it is where it is being deleted, or where another client has changed its owner."""
    for _ in range(LOOKS - 1):
        with suppress(StaleError):  # a CRD that was just created gets conditions
            return await _annotate(target, live)
    return await _annotate(target, live)


async def _annotate(target: Target, live: ObservedObject) -> LiveObject:
    key = live.key
    metadata = await target.client.get_metadata(target.resource_of(key), key.namespace, key.name)
    found = LiveObject(key=key, metadata=metadata)
    if found.metadata.is_deleted or found.metadata.uid != live.uid:
        return found
    references = [index for index, one in enumerate(found.metadata.owner_references) if one.uid == target.owner.uid]
    if references:
        found = await _patch(target, found.metadata, live, _to_annotations(references[0], target.owner.uid))
    if found.metadata.is_deleted or found.metadata.annotations.get(OWNER_UID_ANNOTATION) != target.owner.uid:
        return found
    entries = entries_with_marks(found.metadata, target.owner.manager)
    return await _patch(
        target, found.metadata, live, [{"op": "add", "path": "/metadata/managedFields", "value": entries}]
    )


def _to_annotations(reference: int, uid: str) -> list[dict[str, Any]]:
    return [
        {"op": "test", "path": f"/metadata/ownerReferences/{reference}/uid", "value": uid},
        {"op": "remove", "path": f"/metadata/ownerReferences/{reference}"},
        {"op": "add", "path": _annotation(OWNER_UID_ANNOTATION), "value": uid},
        {"op": "add", "path": _annotation(DELETION_POLICY_ANNOTATION), "value": DELETE},
    ]


def entries_with_marks(metadata: Metadata, manager: str) -> list[Entry]:
    """`managedFields` in which our `Apply` entry alone has the annotations."""
    entries: list[Entry] = []
    for entry in metadata.managed_fields:
        fields = fields_in(entry)
        if is_ours(entry, manager):
            entries.append(entry_with(entry, union(fields, _MARKS)))
        elif left := subtract(fields, _MARKS):
            entries.append(entry_with(entry, left))
    return entries


async def _patch(target: Target, read: Metadata, live: ObservedObject, changes: list[dict[str, Any]]) -> LiveObject:
    patch = [
        {"op": "test", "path": "/metadata/uid", "value": live.uid},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": read.resource_version},
        *changes,
    ]
    key = live.key
    return await target.client.patch(
        target.resource_of(key), key.namespace, key.name, canonical_json(patch), content_type=JSON_PATCH
    )


def _annotation(name: str) -> str:
    return f"/metadata/annotations/{name.replace('~', '~0').replace('/', '~1')}"

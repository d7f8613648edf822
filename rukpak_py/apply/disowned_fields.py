"""Gives up the fields of a live object that the content does not set any more because they are ignored.

Before the apply that comes without them: what our entry has of them is subtracted from it, in one patch that names the
version that was read. Until the apply nothing else has changed, and after a crash in between it is found done.
"""

from collections.abc import Sequence

from rukpak_py.apply.field_paths import canonical
from rukpak_py.apply.ignored import IgnoredField, below_whole_lists, without_ignored
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.results import Failure, FailureKind
from rukpak_py.core.objects import ObjectKey, canonical_json
from rukpak_py.core.wording import named
from rukpak_py.kube.client import JSON_PATCH, Client
from rukpak_py.kube.errors import ErrorAnswer, StaleError
from rukpak_py.kube.managed_fields import Entry, entry_with, fields_in, is_ours
from rukpak_py.kube.metadata import Metadata
from rukpak_py.kube.resources import Resource

ATTEMPTS = 4  # an autoscaler that writes between two requests costs one


async def disown(
    client: Client,
    resource: Resource,
    live: ObservedObject,
    manager: str,
    ignored: Sequence[IgnoredField],
) -> str | None:
    """The resourceVersion to apply on; None: none of these fields is ours."""
    key = live.key
    for attempt in range(1, ATTEMPTS + 1):
        before = await client.get_metadata(resource, key.namespace, key.name)
        if before.uid != live.uid:
            raise StaleError(ErrorAnswer(subject=str(key), status=409, message="it was replaced since it was read"))
        entries = entries_without(before, manager, ignored)
        if entries is None:
            return None
        patch = [
            {"op": "replace", "path": "/metadata/resourceVersion", "value": before.resource_version},
            {"op": "add", "path": "/metadata/managedFields", "value": entries},
        ]
        try:
            answer = await client.patch(
                resource, key.namespace, key.name, canonical_json(patch), content_type=JSON_PATCH
            )
        except StaleError:
            if attempt == ATTEMPTS:
                raise
        else:
            return answer.metadata.resource_version
    raise AssertionError("unreachable: the last attempt returns or raises")


def entries_without(metadata: Metadata, manager: str, ignored: Sequence[IgnoredField]) -> list[Entry] | None:
    """`managedFields` as it must be; None when nothing of ours changes."""
    entries, is_changed = list[Entry](), False
    for entry in metadata.managed_fields:
        fields = fields_in(entry)
        left = without_ignored(fields, ignored) if is_ours(entry, manager) else fields
        if is_ours(entry, manager) and left != canonical(fields):
            fields, is_changed = left, True
        entries.append(entry_with(entry, fields))
    return entries if is_changed else None


def owned_as_a_whole(
    key: ObjectKey, metadata: Metadata, manager: str, ignored: Sequence[IgnoredField]
) -> Failure | None:
    """Of pointers below a list that an answer shows to be owned as a whole: what others set there is drift."""
    ours = (fields_in(entry) for entry in metadata.managed_fields if is_ours(entry, manager))
    pointers = [pointer for fields in ours for pointer in below_whole_lists(fields, ignored)]
    if not pointers:
        return None
    message = (
        f"{key}: spec.overrides[].ignore: {named(pointers)} is below a list that can only be owned as a whole; "
        "ignore the list"
    )
    return Failure(key=key, kind=FailureKind.CONTENT, message=message)

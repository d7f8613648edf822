"""Take an object over from those who wrote it before: the fields that the content has become ours alone.

A field that another manager owns beside us stays when we drop it. So before our first apply the fields of the content
are subtracted from the entries of all others in `managedFields`, in one write that names the version that was judged.
Fields that the content does not have stay with those who set them; so do entries of subresources and of other API
versions. Only of the original operator, for the same deployment, everything becomes ours: what the content lacks goes.
So does the mark of what a deployment has left in the cluster: with the same apply that makes the object ours.

Which fields these are, only the server can tell: `outcome` is its answer to a dry run of the apply.
"""

from rukpak_py.api.names import RELEASED_ANNOTATION
from rukpak_py.apply.field_paths import FieldSet, subtract, union
from rukpak_py.apply.marks import Owner
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.client import JSON_PATCH, Client
from rukpak_py.kube.errors import ErrorAnswer, StaleError
from rukpak_py.kube.metadata import Entry, ManagedFields, Metadata, entry_with, fields_in, is_ours
from rukpak_py.kube.resources import Resource

_RELEASED: FieldSet = {"f:metadata": {"f:annotations": {f"f:{RELEASED_ANNOTATION}": {}}}}
UPSTREAM_MANAGERS = frozenset({"manager", "core", "Go-http-client", "rukpakctl"})


async def take_over(client: Client, resource: Resource, live: ObservedObject, owner: Owner, outcome: Metadata) -> str:
    """The resourceVersion to apply on. `StaleError` when the object is not the one that was judged."""
    before = await client.get_metadata(resource, live.key.namespace, live.key.name)
    if (before.uid, before.version) != (live.uid, live.version):
        raise StaleError(ErrorAnswer(subject=str(live.key), status=409, message="it changed since it was read"))
    entries = entries_taken_over(
        before,
        outcome,
        manager=owner.manager,
        api_version=resource.gvk.api_version,
        everything_of=UPSTREAM_MANAGERS if live.is_from_upstream else frozenset(),
    )
    if entries is None:
        return before.resource_version
    patch = [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": before.resource_version},
        {"op": "add", "path": "/metadata/managedFields", "value": entries},
    ]
    answer = await client.patch(
        resource, live.key.namespace, live.key.name, canonical_json(patch), content_type=JSON_PATCH
    )
    return answer.metadata.resource_version


def entries_taken_over(
    before: Metadata, outcome: Metadata, *, manager: str, api_version: str, everything_of: frozenset[str]
) -> list[Entry] | None:
    """`managedFields` as it must be before the apply; None when no other manager has a field that becomes ours.

    What we owned `before` is kept, so that the apply removes those fields of it that the content has no more. Our entry
    also keeps the list from being empty: the server would take that for an object that was never applied.
    """
    ours = _fields_of(outcome, manager, api_version)
    kept: list[Entry] = []
    mark = _RELEASED if RELEASED_ANNOTATION in before.annotations else FieldSet()
    is_changed, theirs = bool(mark), mark
    for entry in outcome.managed_fields:
        if is_ours(entry, manager):
            continue
        left = fields = fields_in(entry)
        if not entry.subresource and entry.api_version == api_version:
            if entry.manager in everything_of:
                left, theirs = FieldSet(), union(theirs, fields)
            else:
                left = subtract(fields, ours)
        left = subtract(left, mark)
        is_changed |= left != fields
        if left:
            kept.append(entry_with(entry, left))
    if not is_changed:
        return None
    mine = union(_fields_of(before, manager, api_version) or ours, theirs)
    taken = ManagedFields(manager=manager, operation="Apply", api_version=api_version)
    return [*kept, entry_with(taken, mine)]


def _fields_of(metadata: Metadata, manager: str, api_version: str) -> FieldSet:
    found = (one for one in metadata.managed_fields if is_ours(one, manager) and one.api_version == api_version)
    return next((fields_in(one) for one in found), FieldSet())

"""Take an object over from those who applied it before: Helm, kubectl, `rukpakctl`, the original.

Fields that a former manager owns beside us stay when we drop them. So before our first apply the former managers'
entries in `managedFields` become ours, in one write that names the version that was read (kubectl does the same when it
moves from client-side to server-side apply). Entries of subresources, and those of other controllers, stay.
"""

from typing import Any

import orjson

from rukpak_py.apply.live import Live
from rukpak_py.apply.owner import Owner
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.client import JSON_PATCH, Client
from rukpak_py.kube.errors import Refusal, StaleError
from rukpak_py.kube.resources import Resource

FORMER_FAMILIES = ("helm", "Helm", "kubectl", "rukpak")  # and what they add: kubectl-edit, rukpak/<deployment>
FORMER_MANAGERS = frozenset({"before-first-apply", "manager", "core", "Go-http-client"})


async def take_over(client: Client, resource: Resource, live: Live, owner: Owner) -> str:
    """The resourceVersion to apply on. `StaleError` when the object is not the one that was judged."""
    manifest = orjson.loads(await client.get(resource, live.key.namespace, live.key.name))
    metadata = manifest["metadata"]
    if metadata["uid"] != live.uid:
        raise StaleError(Refusal(subject=str(live.key), status=409, message="it was replaced by another object"))
    entries = metadata.get("managedFields") or []
    rewritten = rewrite(entries, owner.manager, resource.gvk.api_version)
    if rewritten == entries:
        return str(live.version)
    patch = [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": str(live.version)},
        {"op": "replace", "path": "/metadata/managedFields", "value": rewritten},
    ]
    answer = await client.patch(
        resource, live.key.namespace, live.key.name, canonical_json(patch), content_type=JSON_PATCH
    )
    return answer.metadata.resource_version


def rewrite(entries: list[dict[str, Any]], manager: str, api_version: str) -> list[dict[str, Any]]:
    """The entries of former managers merged into one of `manager`, by Apply."""
    ours = [entry for entry in entries if _becomes_ours(entry, manager)]
    if not any(entry.get("manager") != manager for entry in ours):
        return entries
    fields: dict[str, Any] = {}
    for entry in ours:
        _merge(fields, entry.get("fieldsV1") or {})
    taken = {
        "manager": manager,
        "operation": "Apply",
        "apiVersion": api_version,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        "time": max(entry.get("time") or "" for entry in ours) or None,
    }
    return [entry for entry in entries if entry not in ours] + [
        {name: value for name, value in taken.items() if value is not None}
    ]


def _becomes_ours(entry: dict[str, Any], manager: str) -> bool:
    name = entry.get("manager") or ""
    is_former = name == manager or name in FORMER_MANAGERS or name.startswith(FORMER_FAMILIES)
    return is_former and not entry.get("subresource")


def _merge(into: dict[str, Any], fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        known = into.setdefault(name, {})
        if isinstance(value, dict) and isinstance(known, dict):
            _merge(known, value)

"""Writes the trust bundle into `caBundle` fields, and gives these fields up before the content drops them.

Server-side apply by a field manager of its own (`rukpak-ca/<deployment>`), with the uid of the live object: it never
creates anything. `ObservedObject.ca_fields`, the hash of what that manager owns, changes when anybody else changes a
field: with the hash of our last answer, the watch tells that there is nothing to do.

A webhook or a conversion that the content drops would be kept alive as an invalid stump by our `caBundle` in it, and
the server would refuse the upgrade. `release` takes our entry out of `managedFields` first: the values stay, so no
request is refused, and they go with what is around them.
"""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from rukpak_py.apply.marks import Owner
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.serving_certificates.steps import Injection
from rukpak_py.apply.serving_certificates.wanted import CaBundleTarget
from rukpak_py.apply.target import Target
from rukpak_py.core.ca_bundles import callers
from rukpak_py.core.objects import GroupVersionKind, ObjectKey, canonical_json
from rukpak_py.kube.client import JSON_PATCH
from rukpak_py.kube.metadata import (
    LiveObject,
    ManagedFields,
    Metadata,
    decode_metadata,
    entry_with,
    field_hash,
    fields_in,
)
from rukpak_py.kube.resources import Resource

Observe = Callable[[GroupVersionKind, LiveObject], ObservedObject]
Lives = dict[ObjectKey, ObservedObject]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Known:
    """What stood in one object when our entry had this hash."""

    uid: str
    ca_fields: str
    webhooks: frozenset[str]  # whose `caBundle` is ours
    bundles: Mapping[str, bytes]


@dataclass(slots=True)
class KnownCallers:
    """What was found and injected of one deployment."""

    _owned: dict[ObjectKey, _Known] = field(default_factory=dict)
    _injected: dict[ObjectKey, tuple[str, bytes]] = field(default_factory=dict)  # the uid, and what was injected last

    def owned(self, live: ObservedObject) -> _Known | None:
        """What is ours in it. None: another client changed that, or this process does not know it yet."""
        known = self._owned.get(live.key)
        return known if known is not None and (known.uid, known.ca_fields) == (live.uid, live.ca_fields) else None

    def read(self, key: ObjectKey, known: _Known) -> None:
        self._owned[key] = known

    def injected(self, key: ObjectKey, known: _Known, trust: bytes) -> None:
        self._owned[key], self._injected[key] = known, (known.uid, trust)

    def released(self, key: ObjectKey) -> None:
        self._owned.pop(key, None)
        self._injected.pop(key, None)

    def has_injected(self, live: ObservedObject, trust: bytes) -> bool:
        return self._injected.get(live.key) == (live.uid, trust)


class Injector:
    def __init__(self, observe: Observe, known: KnownCallers, target: Target) -> None:
        """`observe` takes the answers to our writes in (`Inventory.observe`)."""
        self._observe = observe
        self._known = known
        self._target = target

    def is_repair(self, live: ObservedObject, trust: bytes) -> bool:
        """Whether we have injected exactly this before: somebody has changed it since."""
        return self._known.has_injected(live, trust)

    async def read(self, place: CaBundleTarget, live: ObservedObject) -> Injection:
        """One GET where somebody changed our fields, or where this process does not know them yet."""
        known = await self._owned(live)
        stands = {known.bundles[name] for name in known.webhooks}
        is_whole = known.webhooks == place.webhooks and len(stands) == 1
        return Injection(bundle=next(iter(stands)) if is_whole else b"", trusted=b"".join(stands))

    async def inject(self, place: CaBundleTarget, lives: Lives, trust: bytes) -> None:
        target, live = self._target, lives[place.key]
        resource = replace(target.resource_of(place.key), gvk=place.gvk)
        body = _apply_body(place, live, trust)
        manager = target.owner.ca_manager
        applied = await target.client.apply(resource, "", place.key.name, body, field_manager=manager, force=True)
        lives[place.key] = answered = self._observe(place.gvk, applied.object)
        known = _Known(
            uid=live.uid,
            ca_fields=answered.ca_fields,
            webhooks=place.webhooks,
            bundles=dict.fromkeys(place.webhooks, trust),
        )
        self._known.injected(place.key, known, trust)

    async def release(self, key: ObjectKey, wanted: frozenset[str], lives: Lives) -> bool:
        """Own nothing of an object where we own more than is wanted. Whether anything was given up."""
        target, known = self._target, await self._owned(lives[key])
        if known.webhooks <= wanted:
            return False
        resource = target.resource_of(key)
        metadata = await target.client.get_metadata(resource, "", key.name)
        if metadata.uid != lives[key].uid:
            return False
        kept = [
            entry_with(entry, fields_in(entry))
            for entry in metadata.managed_fields
            if not _is_ours(entry, target.owner)
        ]
        if not kept:
            return False  # the server takes an empty list for an object that nobody ever applied
        patch = [
            {"op": "replace", "path": "/metadata/resourceVersion", "value": metadata.resource_version},
            {"op": "add", "path": "/metadata/managedFields", "value": kept},
        ]
        answer = await target.client.patch(
            resource,
            "",
            key.name,
            canonical_json(patch),
            content_type=JSON_PATCH,
            field_manager=target.owner.ca_manager,
        )
        lives[key] = self._observe(lives[key].gvk, answer)
        self._known.released(key)
        return True

    async def _owned(self, live: ObservedObject) -> _Known:
        known = self._known.owned(live)
        if known is not None:
            return known
        if not live.ca_fields:
            return _Known(uid=live.uid, ca_fields="", webhooks=frozenset(), bundles={})
        known = await _read(self._target.resource_of(live.key), self._target, live)
        self._known.read(live.key, known)
        return known


async def _read(resource: Resource, target: Target, live: ObservedObject) -> _Known:
    json = await target.client.get(resource, "", live.key.name)
    metadata, owner = decode_metadata(json), target.owner
    ours = owned_webhooks(metadata, owner)
    bundles = {caller.name: caller.ca_bundle for caller in callers(orjson.loads(json)) if caller.name in ours}
    return _Known(
        uid=metadata.uid,
        ca_fields=field_hash(metadata, owner.ca_manager) or "",
        webhooks=frozenset(bundles),
        bundles=bundles,
    )


def owned_webhooks(metadata: Metadata, owner: Owner) -> frozenset[str]:
    """The webhooks whose `caBundle` is ours; the name is empty for a CRD and an APIService."""
    entry = next((entry for entry in metadata.managed_fields if _is_ours(entry, owner)), None)
    fields = fields_in(entry) if entry is not None else {}
    webhooks = (
        str(orjson.loads(name.removeprefix("k:")).get("name"))
        for name, owned in fields.get("f:webhooks", {}).items()
        if name.startswith("k:") and "f:caBundle" in owned.get("f:clientConfig", {})
    )
    spec = fields.get("f:spec", {})
    config = spec.get("f:conversion", {}).get("f:webhook", {}).get("f:clientConfig", {})
    return frozenset([*webhooks, *([""] if "f:caBundle" in spec or "f:caBundle" in config else [])])


def _is_ours(entry: ManagedFields, owner: Owner) -> bool:
    return entry.manager == owner.ca_manager and entry.operation == "Apply" and not entry.subresource


def _apply_body(place: CaBundleTarget, live: ObservedObject, trust: bytes) -> bytes:
    authority = {"caBundle": base64.b64encode(trust).decode()}
    fields: dict[str, Any]
    match place.gvk.kind:
        case "CustomResourceDefinition":
            fields = {"spec": {"conversion": {"webhook": {"clientConfig": authority}}}}
        case "APIService":
            fields = {"spec": authority}
        case _:
            fields = {"webhooks": [{"name": name, "clientConfig": authority} for name in sorted(place.webhooks)]}
    identity = {"name": place.key.name, "uid": live.uid}
    return canonical_json({"apiVersion": place.gvk.api_version, "kind": place.gvk.kind, "metadata": identity, **fields})

"""Writes the trust bundle into `caBundle` fields, and gives these fields up before the content drops them.

Callers that a content brings: server-side apply by a field manager of its own (`rukpak-ca/<deployment>`), with the uid
of the live object: it never creates anything. `LiveCaller.ca_fields`, the hash of what that manager owns, changes when
another client changes a field: with the hash of our last answer, the watch tells that there is nothing to do.

A webhook or a conversion that the content drops would be kept alive as an invalid stump by our `caBundle` in it, and
the server would refuse the upgrade. `release` takes our entry out of `managedFields` first: the values stay, so no
request is refused, and they go with what is around them.
"""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import orjson

from rukpak_py.certificates.secret import Owner
from rukpak_py.certificates.steps import Injection
from rukpak_py.certificates.store import Target
from rukpak_py.certificates.wanted import CaBundleTarget
from rukpak_py.core.ca_bundles import callers
from rukpak_py.core.objects import GroupVersionKind, ObjectKey, canonical_json
from rukpak_py.kube.client import JSON_PATCH
from rukpak_py.kube.metadata import (
    LiveObject,
    Metadata,
    decode_metadata,
    entry_with,
    field_hash,
    fields_in,
    is_ours,
)


class LiveCaller(Protocol):
    """A caller as the watches show it."""

    @property
    def key(self) -> ObjectKey: ...
    @property
    def gvk(self) -> GroupVersionKind: ...
    @property
    def uid(self) -> str: ...
    @property
    def owner_uid(self) -> str: ...
    @property
    def ca_fields(self) -> str: ...
    @property
    def is_deleted(self) -> bool: ...


Observe = Callable[[GroupVersionKind, LiveObject], LiveCaller]
Lives = dict[ObjectKey, LiveCaller]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Known:
    """The fields of one object when our entry had this hash."""

    uid: str
    ca_fields: str
    webhooks: frozenset[str]  # whose `caBundle` is ours
    bundles: Mapping[str, bytes]


@dataclass(slots=True)
class KnownCallers:
    """The callers of one deployment as they were found and injected."""

    _owned: dict[ObjectKey, _Known] = field(default_factory=dict)
    _injected: dict[ObjectKey, tuple[str, bytes]] = field(default_factory=dict)  # the uid, and what was injected last

    def owned(self, live: LiveCaller) -> _Known | None:
        """The fields that are ours. None: another client changed that, or this process does not know it yet."""
        known = self._owned.get(live.key)
        return known if known is not None and (known.uid, known.ca_fields) == (live.uid, live.ca_fields) else None

    def read(self, key: ObjectKey, known: _Known) -> None:
        self._owned[key] = known

    def injected(self, key: ObjectKey, known: _Known, trust: bytes) -> None:
        self._owned[key], self._injected[key] = known, (known.uid, trust)

    def released(self, key: ObjectKey) -> None:
        self._owned.pop(key, None)
        self._injected.pop(key, None)

    def has_injected(self, live: LiveCaller, trust: bytes) -> bool:
        return self._injected.get(live.key) == (live.uid, trust)


class Injector:
    def __init__(self, observe: Observe, known: KnownCallers, target: Target) -> None:
        """`observe` takes the answers to our writes in (`Inventory.observe`)."""
        self._observe = observe
        self._known = known
        self._target = target

    def is_repair(self, live: LiveCaller, trust: bytes) -> bool:
        """Whether we have injected exactly this before: another client has changed it since."""
        return self._known.has_injected(live, trust)

    async def read(self, place: CaBundleTarget, live: LiveCaller) -> Injection:
        """One GET where another client changed our fields, or where this process does not know them yet."""
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
            if not is_ours(entry, target.owner.ca_manager)
        ]
        if not kept:
            return False  # the server takes an empty list for an object that was never applied
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

    async def _owned(self, live: LiveCaller) -> _Known:
        known = self._known.owned(live)
        if known is not None:
            return known
        if not live.ca_fields:
            return _Known(uid=live.uid, ca_fields="", webhooks=frozenset(), bundles={})
        owner = self._target.owner
        json = await self._target.client.get(self._target.resource_of(live.key), "", live.key.name)
        metadata = decode_metadata(json)
        ours = owned_webhooks(metadata, owner)
        bundles = {caller.name: caller.ca_bundle for caller in callers(orjson.loads(json)) if caller.name in ours}
        ca_fields = field_hash(metadata, owner.ca_manager) or ""
        known = _Known(uid=metadata.uid, ca_fields=ca_fields, webhooks=frozenset(bundles), bundles=bundles)
        self._known.read(live.key, known)
        return known


def owned_webhooks(metadata: Metadata, owner: Owner) -> frozenset[str]:
    """The webhooks whose `caBundle` is ours; the name is empty for a CRD and an APIService."""
    entry = next((entry for entry in metadata.managed_fields if is_ours(entry, owner.ca_manager)), None)
    fields = fields_in(entry) if entry is not None else {}
    webhooks = (
        str(orjson.loads(name.removeprefix("k:")).get("name"))
        for name, owned in fields.get("f:webhooks", {}).items()
        if name.startswith("k:") and "f:caBundle" in owned.get("f:clientConfig", {})
    )
    spec = fields.get("f:spec", {})
    config = spec.get("f:conversion", {}).get("f:webhook", {}).get("f:clientConfig", {})
    return frozenset([*webhooks, *([""] if "f:caBundle" in spec or "f:caBundle" in config else [])])


def _apply_body(place: CaBundleTarget, live: LiveCaller, trust: bytes) -> bytes:
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

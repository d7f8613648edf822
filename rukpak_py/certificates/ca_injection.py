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

from rukpak_py.certificates.secret import CertificateOwner
from rukpak_py.certificates.steps import Injection
from rukpak_py.certificates.store import CertificateTarget
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
class _OwnedFields:
    """The fields of one object when our entry had this hash."""

    uid: str
    ca_fields: str
    bundles: Mapping[str, bytes]  # by webhook: those whose `caBundle` is ours


@dataclass(slots=True)
class KnownCallers:
    """The callers of one deployment as they were found and injected."""

    owned: dict[ObjectKey, _OwnedFields] = field(default_factory=dict)
    injected: dict[ObjectKey, tuple[str, bytes]] = field(default_factory=dict)  # the uid, and what was injected last


class Injector:
    def __init__(self, observe: Observe, known: KnownCallers, target: CertificateTarget) -> None:
        """`observe` takes the answers to our writes in (`Inventory.observe`)."""
        self._observe = observe
        self._known = known
        self._target = target

    def is_repair(self, live: LiveCaller, trust: bytes) -> bool:
        """Whether we have injected exactly this before: another client has changed it since."""
        return self._known.injected.get(live.key) == (live.uid, trust)

    async def read(self, place: CaBundleTarget, live: LiveCaller) -> Injection:
        """One GET where another client changed our fields, or where this process does not know them yet."""
        known = await self._owned(live)
        stands = set(known.bundles.values())
        is_whole = known.bundles.keys() == place.webhooks and len(stands) == 1
        return Injection(bundle=next(iter(stands)) if is_whole else b"", trusted=b"".join(stands))

    async def inject(self, place: CaBundleTarget, lives: Lives, trust: bytes) -> None:
        target, live = self._target, lives[place.key]
        resource = replace(target.resource_of(place.key), gvk=place.gvk)
        authority = {"caBundle": base64.b64encode(trust).decode()}
        fields: dict[str, Any]
        match place.gvk.kind:
            case "CustomResourceDefinition":
                fields = {"spec": {"conversion": {"webhook": {"clientConfig": authority}}}}
            case "APIService":
                fields = {"spec": authority}
            case _:
                fields = {"webhooks": [{"name": name, "clientConfig": authority} for name in sorted(place.webhooks)]}
        manifest = {
            "apiVersion": place.gvk.api_version,
            "kind": place.gvk.kind,
            "metadata": {"name": place.key.name, "uid": live.uid},
            **fields,
        }
        body, manager = canonical_json(manifest), target.owner.ca_manager
        applied = await target.client.apply(resource, "", place.key.name, body, field_manager=manager, force=True)
        lives[place.key] = answered = self._observe(place.gvk, applied.object)
        bundles = dict.fromkeys(place.webhooks, trust)
        self._known.owned[place.key] = _OwnedFields(uid=live.uid, ca_fields=answered.ca_fields, bundles=bundles)
        self._known.injected[place.key] = live.uid, trust

    async def release(self, key: ObjectKey, wanted: frozenset[str], lives: Lives) -> bool:
        """Own nothing of an object where we own more than is wanted. Whether anything was given up."""
        target, known = self._target, await self._owned(lives[key])
        if known.bundles.keys() <= wanted:
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
        self._known.owned.pop(key, None)
        self._known.injected.pop(key, None)
        return True

    async def _owned(self, live: LiveCaller) -> _OwnedFields:
        """The fields that are ours: those that this process knows, unless another client changed them since."""
        known = self._known.owned.get(live.key)
        if known is not None and (known.uid, known.ca_fields) == (live.uid, live.ca_fields):
            return known
        if not live.ca_fields:
            return _OwnedFields(uid=live.uid, ca_fields="", bundles={})
        owner = self._target.owner
        json = await self._target.client.get(self._target.resource_of(live.key), "", live.key.name)
        metadata = decode_metadata(json)
        ours = owned_webhooks(metadata, owner)
        bundles = {caller.name: caller.ca_bundle for caller in callers(orjson.loads(json)) if caller.name in ours}
        ca_fields = field_hash(metadata, owner.ca_manager) or ""
        known = _OwnedFields(uid=metadata.uid, ca_fields=ca_fields, bundles=bundles)
        self._known.owned[live.key] = known
        return known


def owned_webhooks(metadata: Metadata, owner: CertificateOwner) -> frozenset[str]:
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

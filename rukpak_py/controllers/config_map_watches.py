"""ConfigMaps of the system namespace, and the Bundles that use them, watched by every replica for the webhooks.

Of each ConfigMap only its name and whether it is immutable are remembered; the content is dropped as it arrives.
A ConfigMap never becomes mutable again, so an immutable one is answered from the watch. Everything else (not seen yet,
or mutable a moment ago) is read from the API server: no review is refused because our watch is late.

Of Bundles there is one feed at a time. A replica that does not lead has a watch of its own. In the leader Kopf feeds an
index of its own; when that has all that Kopf listed first, it takes the place of the former, whose watch ends. When the
process stops, Kopf ends before the webhooks: the watch goes on from where it ended, and feeds the index that is in use.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from time import monotonic
from typing import Any

import msgspec

from rukpak_py.controllers.system_objects import SystemObjects
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import BUNDLES, CONFIG_MAPS
from rukpak_py.kube.seen_versions import OnRestore
from rukpak_py.kube.watching import WatchStatus

PAGE = 20  # where they have to be listed: each may have 1 MiB
OnChange = Callable[[ObjectKey, LiveObject | None, LiveObject | None], None]


class _Flags(msgspec.Struct):
    immutable: bool | None = None


_FLAGS = msgspec.json.Decoder(_Flags)


class ConfigMapWatch:
    def __init__(self, client: Client, namespace: str, *, on_restore: OnRestore | None = None) -> None:
        self._objects = SystemObjects(client, namespace)
        self._immutable: set[str] = set()
        self._listeners: list[OnChange] = []
        self.informer = Informer(
            client,
            CONFIG_MAPS,
            namespace=namespace,
            full=True,
            keep=False,
            page=PAGE,
            on_change=self._changed,
            on_restore=on_restore,
        )

    def subscribe(self, listener: OnChange) -> None:
        """Call it at every change from now on."""
        self._listeners.append(listener)

    async def immutable(self, name: str) -> bool | None:
        """The flag of a ConfigMap; None when there is no such ConfigMap."""
        if name in self._immutable:
            return True
        found = await self._objects.read(CONFIG_MAPS, name)
        return bool(found.immutable) if found is not None else None

    def _changed(self, key: ObjectKey, old: LiveObject | None, new: LiveObject | None) -> None:
        if new is not None and bool(_FLAGS.decode(new.json or b"{}").immutable):
            self._immutable.add(key.name)
        else:
            self._immutable.discard(key.name)
        for listener in self._listeners:
            listener(key, old, new)


class _Reference(msgspec.Struct, frozen=True):
    name: str = ""


class _Item(msgspec.Struct, frozen=True, rename="camel"):
    config_map: _Reference = _Reference()


class _Source(msgspec.Struct, frozen=True, rename="camel"):
    type: str = ""
    config_maps: list[_Item] | None = None


class _Spec(msgspec.Struct, frozen=True):
    source: _Source = _Source()


class _BundleHead(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


class _User(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    config_maps: frozenset[str]
    seen_at: float  # monotonic


class ConfigMapUsers:
    """Bundles that refer to ConfigMaps, whatever their class and type, as the original; by uid, and never by name.

    The events of each uid come in order. Those of two Bundles that had the same name may not.
    """

    def __init__(self) -> None:
        self._users: dict[str, _User] = {}

    def using(self, config_map: str) -> Sequence[str]:
        return sorted({user.name for user in self._users.values() if config_map in user.config_maps})

    def event(self, event: str | None, body: Mapping[str, Any]) -> None:
        """Take an event of Kopf."""
        metadata = body.get("metadata") or {}
        if event == "DELETED":
            self.drop(metadata.get("uid", ""))
        else:
            self.put(metadata.get("uid", ""), metadata.get("name", ""), body)

    def put(self, uid: str, name: str, bundle: bytes | Mapping[str, Any]) -> None:
        config_maps = _config_maps_of(bundle)
        if config_maps:
            self._users[uid] = _User(name=name, config_maps=config_maps, seen_at=monotonic())
        else:
            self.drop(uid)

    def drop(self, uid: str) -> None:
        self._users.pop(uid, None)

    def retain(self, uids: AbstractSet[str], asked_at: float) -> None:
        """Drop what a list does not show, but for what was seen since that list was asked for."""
        for uid, user in list(self._users.items()):
            if uid not in uids and user.seen_at < asked_at:
                self.drop(uid)


class BundleWatch:
    """The Bundles that use ConfigMaps, by a watch of its own until another feed takes over."""

    def __init__(self, client: Client, *, on_restore: OnRestore | None = None) -> None:
        self._users = ConfigMapUsers()
        self.informer = Informer(client, BUNDLES, full=True, keep=False, on_change=self._changed, on_restore=on_restore)
        self._other_status: Callable[[], WatchStatus] | None = None

    async def using(self, config_map: str) -> Sequence[str]:
        return self._users.using(config_map)

    async def hand_over(self, users: ConfigMapUsers, status: Callable[[], WatchStatus]) -> None:
        """Answer from these users from now on, whose feed has this status, and end the watch."""
        self._users, self._other_status = users, status
        await self.informer.stop()

    @property
    def problem(self) -> str | None:
        """Reason why the answers may be wrong, by the feed that is in use."""
        if self._other_status is not None:
            return self._other_status().problem
        if not self.informer.synced.is_set():
            return "the Bundles have not been listed yet"
        return self.informer.status.problem if self.informer.status is not None else None

    def _changed(self, key: ObjectKey, old: LiveObject | None, new: LiveObject | None) -> None:
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._users.drop(old.metadata.uid)
        if new is not None:
            self._users.put(new.metadata.uid, key.name, new.json or b"{}")


def _config_maps_of(bundle: bytes | Mapping[str, Any]) -> frozenset[str]:
    try:
        if isinstance(bundle, bytes):
            source = msgspec.json.decode(bundle, type=_BundleHead).spec.source
        else:
            source = msgspec.convert(bundle, type=_BundleHead).spec.source
    except msgspec.DecodeError:
        return frozenset()
    return frozenset(item.config_map.name for item in source.config_maps or [] if item.config_map.name)

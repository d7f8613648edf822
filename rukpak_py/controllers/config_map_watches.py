"""ConfigMaps of the system namespace, and the Bundles that use them, watched by every replica for the webhooks.

Of each ConfigMap only its name and whether it is immutable are remembered; the content is dropped as it arrives.
A ConfigMap never becomes mutable again, so an immutable one is answered from the watch. Everything else (not seen yet,
or mutable a moment ago) is read from the API server: no review is refused because our watch is late.
"""

from collections.abc import Callable, Sequence

import msgspec

from rukpak_py.controllers.system_objects import SystemObjects
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import BUNDLES, CONFIG_MAPS
from rukpak_py.kube.seen_versions import OnRestore

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


class ConfigMapUsers:
    """Bundles that refer to ConfigMaps, by a watch of its own, because every replica serves the webhook."""

    def __init__(self, client: Client, *, on_restore: OnRestore | None = None) -> None:
        self._users: dict[str, set[str]] = {}
        self._named: dict[str, frozenset[str]] = {}
        self.informer = Informer(client, BUNDLES, full=True, on_change=self._changed, on_restore=on_restore)

    async def using(self, config_map: str) -> Sequence[str]:
        return sorted(self._users.get(config_map, ()))

    def _changed(self, key: ObjectKey, _old: LiveObject | None, new: LiveObject | None) -> None:
        names = _config_maps_of(new) if new is not None else frozenset()
        for name in self._named.pop(key.name, frozenset()) - names:
            self._users[name].discard(key.name)
            if not self._users[name]:
                del self._users[name]
        for name in names:
            self._users.setdefault(name, set()).add(key.name)
        if names:
            self._named[key.name] = names


def _config_maps_of(bundle: LiveObject) -> frozenset[str]:
    """Whatever its type, as the original: a Bundle that lists a ConfigMap uses it."""
    try:
        source = msgspec.json.decode(bundle.json or b"{}", type=_BundleHead).spec.source
    except msgspec.DecodeError:
        return frozenset()
    return frozenset(item.config_map.name for item in source.config_maps or [] if item.config_map.name)

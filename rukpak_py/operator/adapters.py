"""The ports of `server`, `controllers` and `sources`, in terms of the API client."""

from collections.abc import Sequence

import msgspec

from rukpak_py.certificates.secret import Secret
from rukpak_py.controllers.system_objects import SystemObjects
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import (
    BUNDLES,
    SECRETS,
)
from rukpak_py.kube.seen_versions import OnRestore


class SystemSecrets:
    """The certificate keeper's `Secrets`."""

    def __init__(self, objects: SystemObjects) -> None:
        self._objects = objects
        self.create, self.replace = objects.create_secret, objects.replace_secret

    async def read(self, name: str) -> Secret | None:
        found = await self._objects.read(SECRETS, name)
        return Secret(data=found.secret_data(), version=found.metadata.resource_version) if found is not None else None


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
    """Which Bundles refer to which ConfigMaps: a watch of its own, because every replica serves the webhook."""

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

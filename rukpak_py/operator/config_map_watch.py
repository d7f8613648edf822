"""The ConfigMaps of the system namespace, watched by every replica: the webhook answers from it without a request.

Of each ConfigMap only its name and whether it is immutable are remembered; the content is dropped as it arrives.
A ConfigMap never becomes mutable again, so an immutable one is answered from the watch. Everything else (not seen yet,
or mutable a moment ago) is read from the API server: nobody is refused because our watch is late.
"""

from collections.abc import Callable

import msgspec

from rukpak_py.controllers.system_objects import SystemObjects
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import CONFIG_MAPS
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
        if new is not None and _is_immutable(new.json or b"{}"):
            self._immutable.add(key.name)
        else:
            self._immutable.discard(key.name)
        for listener in self._listeners:
            listener(key, old, new)


def _is_immutable(config_map: bytes) -> bool:
    return bool(_FLAGS.decode(config_map).immutable)

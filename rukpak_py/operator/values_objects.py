"""The controllers' `ValuesObjects`: each object is read once for each change that the watches show.

The watches are those of the Secrets and ConfigMaps of the system namespace that the operator has anyway. They remember
versions only; what an object holds is read when its version is another one than was read last. While a watch does not
show an object, it is asked for once: the watch may be late, and then shows it in a moment.
"""

import asyncio
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from rukpak_py.core.errors import ContentError
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject, decode_metadata
from rukpak_py.kube.resources import CONFIG_MAPS, SECRETS, Resource
from rukpak_py.operator.adapters import data_of_config_map, data_of_secret, own_secret


class _Kind(NamedTuple):
    resource: Resource
    watch: Informer
    data: Callable[[Mapping[str, Any]], Mapping[str, bytes]]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Read:
    data: Mapping[str, bytes] | None = None  # None: it did not exist
    uid: str = ""
    version: int = 0
    own: str = ""  # why nothing may refer to it

    def is_current(self, live: LiveObject | None, *, is_complete: bool) -> bool:
        """`is_complete`: what the watch does not show either does not exist or is news to it."""
        if live is None:
            return not self.uid or not is_complete
        return self.uid == live.metadata.uid and self.version >= live.metadata.version


class SystemValuesObjects:
    def __init__(self, client: Client, namespace: str, *, secrets: Informer, config_maps: Informer) -> None:
        self._client = client
        self._namespace = namespace
        self._kinds = {
            SECRETS.gvk.kind: _Kind(SECRETS, secrets, data_of_secret),
            CONFIG_MAPS.gvk.kind: _Kind(CONFIG_MAPS, config_maps, data_of_config_map),
        }
        self._read: dict[tuple[str, str], _Read] = {}
        self._turns: dict[tuple[str, str], asyncio.Lock] = {}

    async def read(self, kind: str, name: str) -> Mapping[str, bytes] | None:
        resource, watch, _ = self._kinds[kind]
        async with self._turns.setdefault((kind, name), asyncio.Lock()):  # deployments may share it
            known = self._read.get((kind, name))
            live = watch.get(resource.key(self._namespace, name))
            if known is None or not known.is_current(live, is_complete=watch.synced.is_set()):
                known = self._read[kind, name] = await self._get(kind, name)
            if known.own:
                raise ContentError(known.own)
            return known.data

    def retain(self, wanted: AbstractSet[tuple[str, str]]) -> None:
        for key in self._read.keys() - wanted:
            del self._read[key]
        for key in self._turns.keys() - wanted:
            if not self._turns[key].locked():
                del self._turns[key]

    async def _get(self, kind: str, name: str) -> _Read:
        resource, _, data = self._kinds[kind]
        try:
            body = await self._client.get(resource, self._namespace, name)
        except NotFoundError:
            return _Read()
        metadata, manifest = decode_metadata(body), orjson.loads(body)
        if resource is SECRETS and (own := own_secret(name, manifest)):
            return _Read(uid=metadata.uid, version=metadata.version, own=own)
        return _Read(data=data(manifest), uid=metadata.uid, version=metadata.version)

"""The Secrets and ConfigMaps of the system namespace that content refers to: who reads them, and the ports made of it.

What they hold is not logged, and remembered only for charts that take values from it. No data of a Secret of the
operator itself is handed to what content refers to: see `StoredObject.own`.
"""

import asyncio
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import msgspec

from rukpak_py.api.names import HOSTS_ANNOTATION
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS, Resource
from rukpak_py.kube.secrets import StoredObject
from rukpak_py.sources.config_maps import ConfigMap
from rukpak_py.sources.source import OPAQUE, SourceSecret

DEFAULT_ACCOUNT = "default"  # the service account of pods that name no other


class SystemObjects:
    """The reader. It is the sources' `Credentials` and `ConfigMaps`, too."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self.namespace = namespace

    async def read(self, resource: Resource, name: str) -> StoredObject | None:
        try:
            return StoredObject.decode(await self._client.get(resource, self.namespace, name))
        except NotFoundError:
            return None

    async def secret(self, name: str) -> SourceSecret:
        found = await self.read(SECRETS, name)
        if found is None:
            raise UnavailableError(f'get secret {self.namespace}/{name}: Secret "{name}" not found')
        version = found.metadata.resource_version
        if own := found.own():
            return SourceSecret(own=own, version=version)
        return SourceSecret(
            data=found.secret_data(),
            type=found.type or OPAQUE,
            hosts=found.metadata.annotations.get(HOSTS_ANNOTATION),
            version=version,
        )

    async def config_map(self, name: str) -> ConfigMap:
        found = await self.read(CONFIG_MAPS, name)
        if found is None:
            raise UnavailableError(f'get configmap {self.namespace}/{name}: ConfigMap "{name}" not found')
        return ConfigMap(data=found.config_map_data())


class _Account(msgspec.Struct, rename="camel"):
    image_pull_secrets: list[dict[str, str]] | None = None


class AccountPullSecrets:
    """The pull secrets of the service account that a pod of the system namespace has when it names none."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self.last_names: Sequence[str] = ()  # as the last fetch of an image found them

    async def names(self) -> Sequence[str]:
        try:
            body = await self._client.get(SERVICE_ACCOUNTS, self._namespace, DEFAULT_ACCOUNT)
        except NotFoundError:
            self.last_names = ()
        else:
            secrets = msgspec.json.decode(body, type=_Account).image_pull_secrets or ()
            self.last_names = tuple(name for secret in secrets if (name := secret.get("name")))
        return self.last_names


class _Known(NamedTuple):
    uid: str = ""
    version: int = 0
    own: str = ""  # why nothing may refer to it
    data: Mapping[str, bytes] | None = None  # None: it did not exist

    def is_current(self, live: LiveObject | None, *, is_complete: bool) -> bool:
        """`is_complete`: what the watch does not show either does not exist or is news to it."""
        if live is None:
            return not self.uid or not is_complete
        return self.uid == live.metadata.uid and self.version >= live.metadata.version


class SystemValuesObjects:
    """The controllers' `ValuesObjects`: each object is read once for each change that the watches show.

    The watches are those of the system namespace that the operator has anyway. They remember versions only. While a
    watch does not show an object, it is asked for once: the watch may be late, and then shows it in a moment.
    """

    def __init__(self, objects: SystemObjects, *, secrets: Informer, config_maps: Informer) -> None:
        self._objects = objects
        self._watches = {"Secret": (SECRETS, secrets), "ConfigMap": (CONFIG_MAPS, config_maps)}
        self._known: dict[tuple[str, str], _Known] = {}
        self._turns: dict[tuple[str, str], asyncio.Lock] = {}

    async def read(self, kind: str, name: str) -> Mapping[str, bytes] | None:
        resource, watch = self._watches[kind]
        async with self._turns.setdefault((kind, name), asyncio.Lock()):  # deployments may share it
            known = self._known.get((kind, name))
            live = watch.get(resource.key(self._objects.namespace, name))
            if known is None or not known.is_current(live, is_complete=watch.synced.is_set()):
                known = self._known[kind, name] = await self._read(resource, name)
            if known.own:
                raise ContentError(known.own)
            return known.data

    def retain(self, wanted: AbstractSet[tuple[str, str]]) -> None:
        for key in self._known.keys() - wanted:
            del self._known[key]
        for key in self._turns.keys() - wanted:
            if not self._turns[key].locked():
                del self._turns[key]

    async def _read(self, resource: Resource, name: str) -> _Known:
        found = await self._objects.read(resource, name)
        if found is None:
            return _Known()
        uid, version = found.metadata.uid, found.metadata.version
        if resource is CONFIG_MAPS:
            return _Known(uid, version, data=found.config_map_data())
        own = found.own()
        return _Known(uid, version, own, data=None if own else found.secret_data())

"""The Secrets and ConfigMaps of the system namespace that content refers to: who reads them, and the ports made of it.

What they hold is neither logged nor remembered. No data of a Secret of the
operator itself is handed to what content refers to: see `StoredObject.own`.
"""

from collections.abc import Sequence

import msgspec

from rukpak_py.api.names import HOSTS_ANNOTATION
from rukpak_py.core.errors import UnavailableError
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
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

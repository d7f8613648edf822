"""Secrets and ConfigMaps as the server sends them, and the operator's own Secrets in its namespace."""

import base64
from collections.abc import Mapping

import msgspec

from rukpak_py.api.own_secrets import OWN_SECRET_LABELS, own_by_marks, own_by_name
from rukpak_py.core.nesting import decoded
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import AlreadyExistsError, NotFoundError, StaleError
from rukpak_py.kube.metadata import Metadata
from rukpak_py.kube.resources import SECRETS


class StoredObject(msgspec.Struct, frozen=True, rename="camel"):
    """A Secret or a ConfigMap as the server sent it."""

    metadata: Metadata = Metadata()
    type: str | None = None
    immutable: bool | None = None
    sent_data: dict[str, str] | None = msgspec.field(default=None, name="data")
    binary_data: dict[str, str] | None = None

    @classmethod
    def decode(cls, body: bytes) -> "StoredObject":
        return decoded(_STORED_OBJECT, body)

    def secret_data(self) -> dict[str, bytes]:
        return {key: base64.b64decode(value) for key, value in (self.sent_data or {}).items()}

    def config_map_data(self) -> dict[str, bytes]:
        text = {key: value.encode() for key, value in (self.sent_data or {}).items()}
        return text | {key: base64.b64decode(value) for key, value in (self.binary_data or {}).items()}

    def own(self) -> str:
        """Reason why nothing may refer to this Secret, when it is the operator's own; empty when it is not."""
        name, labels, annotations = self.metadata.name, self.metadata.labels, self.metadata.annotations
        return own_by_name(name) or own_by_marks(name, kind=self.type or "", labels=labels, annotations=annotations)


_STORED_OBJECT = msgspec.json.Decoder(StoredObject)


class OwnSecrets:
    """The Secrets that the operator makes for itself."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def read(self, name: str) -> StoredObject | None:
        try:
            return StoredObject.decode(await self._client.get(SECRETS, self._namespace, name))
        except NotFoundError:
            return None

    async def create(self, name: str, data: Mapping[str, bytes]) -> bool:
        """False when it exists already."""
        try:
            await self._client.create(SECRETS, self._namespace, self._body(name, data))
        except AlreadyExistsError:
            return False
        return True

    async def replace(self, name: str, data: Mapping[str, bytes], version: str) -> bool:
        """False when it is no longer at this version."""
        try:
            await self._client.replace(SECRETS, self._namespace, name, self._body(name, data, resourceVersion=version))
        except (StaleError, NotFoundError):
            return False
        return True

    def _body(self, name: str, data: Mapping[str, bytes], **version: str) -> bytes:
        metadata = {"name": name, "namespace": self._namespace, "labels": OWN_SECRET_LABELS, **version}
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        return canonical_json({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded})

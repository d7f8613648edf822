"""The ports of `server`, `controllers` and `sources`, in terms of the API client."""

from rukpak_py.certificates.secret import Secret
from rukpak_py.controllers.system_objects import SystemObjects
from rukpak_py.kube.resources import (
    SECRETS,
)


class SystemSecrets:
    """The certificate keeper's `Secrets`."""

    def __init__(self, objects: SystemObjects) -> None:
        self._objects = objects
        self.create, self.replace = objects.create_secret, objects.replace_secret

    async def read(self, name: str) -> Secret | None:
        found = await self._objects.read(SECRETS, name)
        return Secret(data=found.secret_data(), version=found.metadata.resource_version) if found is not None else None

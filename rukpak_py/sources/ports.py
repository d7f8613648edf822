"""What the sources ask for, and somebody else provides."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from rukpak_py.content.tree import Tree


class Credentials(Protocol):
    async def secret(self, name: str) -> Mapping[str, bytes]:
        """The data of a Secret of the system namespace; `UnavailableError` when there is none (yet)."""
        ...


class PullSecrets(Protocol):
    async def names(self) -> Sequence[str]:
        """The `imagePullSecrets` of the service account that pods of the system namespace have by default."""
        ...


class UnpackedImages(Protocol):
    async def find(self, ref: str, provisioner_class: str) -> Tree | None:
        """The stored content of an image by its digest, as `resolvedSource` names it, that was unpacked before."""
        ...

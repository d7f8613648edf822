"""What the sources ask for, and somebody else provides."""

from collections.abc import Mapping
from typing import Protocol


class Credentials(Protocol):
    async def secret(self, name: str) -> Mapping[str, bytes]:
        """The data of a Secret of the system namespace; `UnavailableError` when there is none (yet)."""
        ...

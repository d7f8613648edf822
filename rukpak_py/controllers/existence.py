"""Whether one of our objects still exists. What has the uid of one that is gone as its owner is collected at once, for
ever.
"""

from collections.abc import Callable
from time import monotonic
from typing import Generic

from rukpak_py.controllers.cache import Cache, Kind
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import Resource

UNHEARD_OF_SECONDS = 600.0  # without an event an object is looked at before anything is created for it


class Existence(Generic[Kind]):
    def __init__(
        self, client: Client, resource: Resource, cache: Cache[Kind], *, on_gone: Callable[[Kind], None]
    ) -> None:
        """`on_gone`: the API server says that it is gone, and no watch had."""
        self._client = client
        self._resource = resource
        self._cache = cache
        self._on_gone = on_gone

    async def still_exists(self, obj: Kind, *, is_doubtful: bool) -> bool:
        metadata = obj.metadata
        if not is_doubtful and monotonic() - self._cache.seen_at(metadata.name) < UNHEARD_OF_SECONDS:
            return True
        try:
            live = await self._client.get_metadata(self._resource, "", metadata.name)
        except NotFoundError:
            live = None
        if live is None or live.uid != metadata.uid:
            self._on_gone(obj)
            return False
        self._cache.confirm(metadata.name)
        return not live.is_deleted

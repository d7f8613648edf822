"""Writes the status of Bundles: one write for a conclusion that changes it, with the Events of the transition."""

from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle, BundleStatus
from rukpak_py.api.names import BUNDLE_KIND
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.events import emit
from rukpak_py.controllers.ports import Recorder
from rukpak_py.controllers.result.conclusion import Conclusion
from rukpak_py.controllers.writes import write_status
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError, StaleError
from rukpak_py.kube.resources import BUNDLES


class BundleStatusWriter:
    def __init__(self, client: Client, bundles: Cache[Bundle], events: Recorder) -> None:
        self._client = client
        self._bundles = bundles
        self._events = events

    async def write(self, bundle: Bundle, conclusion: Conclusion[BundleStatus]) -> bool:
        """Whether the server has something new; False also where the Bundle is gone."""
        emit(self._events, BUNDLE_KIND, bundle.metadata, conclusion.happened)
        try:
            metadata = await write_status(self._client, BUNDLES, bundle.metadata, bundle.status, conclusion.status)
        except (NotFoundError, StaleError):
            return False  # deleted meanwhile; its event is on the way
        if metadata is None:
            return False
        emit(self._events, BUNDLE_KIND, bundle.metadata, conclusion.events)
        if metadata.generation == bundle.metadata.generation:
            self._bundles.put(replace(bundle, metadata=metadata, status=conclusion.status))
        return True

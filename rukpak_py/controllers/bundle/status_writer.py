"""Writes the status of Bundles: one write for what happened, with the Events of the transition."""

from collections.abc import Callable

from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle, BundleStatus
from rukpak_py.api.names import BUNDLE_KIND
from rukpak_py.controllers.bundle.status import bundle_transitions
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.events import emit
from rukpak_py.controllers.ports import Recorder
from rukpak_py.controllers.writes import write_status
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError, StaleError
from rukpak_py.kube.resources import BUNDLES


class BundleStatusWriter:
    def __init__(
        self,
        client: Client,
        bundles: Cache[Bundle],
        events: Recorder,
        *,
        on_news: Callable[[Bundle], None],
        now: Callable[[], str],
        content_url: Callable[[str], str] = lambda _: "",
    ) -> None:
        """`on_news` is called after each report: the content may be there again although there was nothing to write.

        `content_url`: where the content of the Bundle of this name can be downloaded.
        """
        self._client = client
        self._bundles = bundles
        self._events = events
        self._on_news = on_news
        self.now = now
        self.content_url = content_url

    async def write(self, bundle: Bundle, status: BundleStatus) -> bool:
        """Whether the server has it; False: the Bundle is gone."""
        try:
            metadata = await write_status(self._client, BUNDLES, bundle.metadata, bundle.status, status)
        except (NotFoundError, StaleError):
            return False  # deleted meanwhile; its event is on the way
        if metadata is None:
            self._on_news(bundle)
            return True
        emit(self._events, BUNDLE_KIND, bundle.metadata, bundle_transitions(bundle.status, status))
        if metadata.generation == bundle.metadata.generation:
            bundle = replace(bundle, metadata=metadata, status=status)
            self._bundles.put(bundle)
        self._on_news(bundle)
        return True

"""Kopf's requests for our kinds, seen from its HTTP session: what its watches do, and what they must not do.

* Every request, answer and chunk moves the status of the watch, which the watchdog and the probes read.
* A refusal (403, 404, 5xx) would end Kopf, and its own shutdown may hang: it is told that the connection failed, so it
  tries again, and the watchdog decides when a refusal has lasted for too long.
* A watch that is silent for longer than bookmarks take is opened again.
* An optional kind may be refused, or not be served at all.
* Kopf's decoder fails on what nests too deeply, and Kopf with it: objects come to it cut, see `nesting`.
* A list after the first, and a watch that begins again after its connection was lost, may hide deletions and a restored
  etcd: `on_gap` is called.
* Every object of a list comes back as an event, which may be a newer one of its name. When the watch that follows the
  list is open and each name was handed over, `on_handed_over` is called: what was there when Kopf began is known.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, cast

import aiohttp
import msgspec

from rukpak_py.core.nesting import cut
from rukpak_py.kube.metadata import Metadata
from rukpak_py.kube.resources import Resource
from rukpak_py.kube.seen_versions import SeenVersions
from rukpak_py.kube.status_errors import error_of
from rukpak_py.kube.watching import Lines, WatchStatus, WatchTracker

IDLE_SECONDS = 90.0  # bookmarks come every 60 s
THE_WATCH = ""  # among the names that are awaited: the watch that follows the list
BUSY = 429  # Kopf waits for as long as it is told
Handler = Callable[[aiohttp.ClientRequest], Awaitable[aiohttp.ClientResponse]]


class _Item(msgspec.Struct, gc=False):
    metadata: Metadata


class _List(msgspec.Struct, gc=False):
    items: list[_Item] | None = None


class KopfWatches:
    def __init__(
        self,
        resources: Sequence[Resource],
        *,
        optional: Sequence[Resource] = (),
        versions: SeenVersions,
        on_gap: Callable[[], None],
        on_handed_over: Callable[[str], None],
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        """`on_gap` and `on_handed_over` are called in Kopf's thread."""

        def watches(of: Sequence[Resource]) -> list[_Watch]:
            return [_Watch(one, versions, on_gap, on_handed_over, idle_seconds) for one in of]

        self._needed, self._optional = watches(resources), watches(optional)
        self._watches = {watch.resource.plural: watch for watch in (*self._needed, *self._optional)}

    def status(self, resource: Resource) -> WatchStatus:
        return self._watches[resource.plural].tracker.status

    def statuses(self) -> list[WatchStatus]:
        return [watch.tracker.status for watch in self._needed]

    def other_statuses(self) -> list[WatchStatus]:
        """Statuses of the watches that Kopf has on optional kinds."""
        return [watch.tracker.status for watch in self._optional if watch.has_begun]

    @property
    def have_begun(self) -> bool:
        """Kopf looks for kinds once, at its start, and begins with all that it finds together."""
        return all(watch.has_begun for watch in self._needed)

    def has_begun(self, resource: Resource) -> bool:
        """Whether Kopf has asked for this kind since its start."""
        return self._watches[resource.plural].has_begun

    def handed_over(self, plural: str, name: str) -> None:
        """An event of this name has gone its way; call this in Kopf's thread."""
        self._watches[plural].handed_over(name)

    def begin(self) -> None:
        """Kopf starts now."""
        for watch in self._watches.values():
            watch.begin()

    async def middleware(self, request: aiohttp.ClientRequest, handler: Handler) -> aiohttp.ClientResponse:
        watch = self._watch_of(request.url.path) if request.method == "GET" else None
        return await (handler(request) if watch is None else watch.send(request, handler))

    def _watch_of(self, path: str) -> "_Watch | None":
        """The URL of the API server may have a path of its own, in front of what it serves."""
        return next((watch for watch in self._watches.values() if path.endswith(watch.resource.path())), None)


class _Watch:
    """One kind: its lists and its watch."""

    def __init__(
        self,
        resource: Resource,
        versions: SeenVersions,
        on_gap: Callable[[], None],
        on_handed_over: Callable[[str], None],
        idle_seconds: float,
    ) -> None:
        self.tracker = WatchTracker(resource, reader="Kopf")
        self.resource = resource
        self.has_begun = False
        self._versions = versions
        self._on_gap = on_gap
        self._on_handed_over = on_handed_over
        self._idle_seconds = idle_seconds
        self._awaited: set[str] = set()  # names that were listed and not handed over yet
        self._was_listed = False
        self._lost_connection = False

    def begin(self) -> None:
        self.has_begun = False
        self.tracker.answered()

    def listed(self, page: bytes) -> None:
        with suppress(msgspec.MsgspecError):  # Kopf says what is wrong with it
            items = msgspec.json.decode(page, type=_List).items or ()
            self._awaited.update(item.metadata.name for item in items)

    def handed_over(self, name: str) -> None:
        if name in self._awaited:
            self._awaited.remove(name)
            if not self._awaited:
                self._on_handed_over(self.resource.plural)

    async def send(self, request: aiohttp.ClientRequest, handler: Handler) -> aiohttp.ClientResponse:
        query = request.url.query
        self.has_begun = True
        self.tracker.active()
        self._versions.seen(self.resource, query.get("resourceVersion", ""))
        try:
            response = await handler(request)
        except (aiohttp.ClientError, OSError):
            self.lost()
            raise
        if response.status >= 400:
            await self._refused(response)
        elif "watch" in query:
            self._opened(response)
        else:
            self._listed(response, is_first_page="continue" not in query)
        return response

    def lost(self) -> None:
        self._lost_connection = True
        self.tracker.unanswered()

    async def _refused(self, response: aiohttp.ClientResponse) -> None:
        body = await response.read()
        error = error_of(f"watch {self.resource.gvk.kind}", response.status, body)
        self.tracker.refused(error)
        if response.status != BUSY:
            raise aiohttp.ClientConnectionError(str(error))

    def _listed(self, response: aiohttp.ClientResponse, *, is_first_page: bool) -> None:
        self.tracker.answered()
        if is_first_page:
            self._awaited = {THE_WATCH}
            if self._was_listed:
                self._on_gap()
        self._was_listed = True
        response.content = cast("aiohttp.StreamReader", _Page(response.content, self))

    def _opened(self, response: aiohttp.ClientResponse) -> None:
        self.handed_over(THE_WATCH)
        self.tracker.delivered()
        if self._lost_connection:
            self._lost_connection = False
            self._on_gap()
        response.content = cast("aiohttp.StreamReader", _Stream(response.content, self, self._idle_seconds))


class _Page:
    """The body of a list, as Kopf reads it: whole."""

    def __init__(self, content: aiohttp.StreamReader, watch: _Watch) -> None:
        self._content = content
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    async def read(self) -> bytes:
        page = cut(await self._content.read())
        self._watch.listed(page)
        return page


class _Stream:
    """The body of a watch, as Kopf reads it: in chunks, which are whole lines."""

    def __init__(self, content: aiohttp.StreamReader, watch: _Watch, idle_seconds: float) -> None:
        self._content = content
        self._watch = watch
        self._idle_seconds = idle_seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    async def iter_chunked(self, size: int) -> AsyncGenerator[bytes, None]:
        chunks, lines = self._content.iter_chunked(size), Lines()
        try:
            while True:
                async with asyncio.timeout(self._idle_seconds):
                    chunk = await anext(chunks, None)
                if chunk is None:
                    break
                self._watch.tracker.delivered()
                if whole := b"".join(cut(line) + b"\n" for line in lines.feed(chunk)):
                    yield whole
        except aiohttp.ClientError:
            self._watch.lost()
            raise
        finally:
            self._watch.tracker.active()

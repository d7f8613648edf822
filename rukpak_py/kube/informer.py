"""A live copy of the objects of one resource, fed by a watch that never gives up.

It starts with a WatchList (initial events, then a bookmark that says they are complete), or, where the server cannot,
with a LIST from the server's cache. It resumes from the last version seen, bookmarks included. However a watch ends,
`WatchEnding` names it and one table says what follows. Deletions that no watch delivered are found at the next start.
After a lost connection, and before a fresh start that is not the first, the version seen last is compared with the
server's: etcd may have been restored, and a watch from a version that is still to come is silent without an error.

A kind that is not served, twice in a row, has no objects: they are told as deleted, and the kind is looked for again,
slowly or at a `nudge`, until `stop`. All waits are jittered: a restarted server ends every watch at once.
"""

import asyncio
import logging
import random
from collections.abc import Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from enum import Enum

import msgspec

from rukpak_py.core.logs import of_no_reconcile
from rukpak_py.core.metrics import SYNTHESISED_DELETES, WATCH_ENDS
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.answers import live_object, selection
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError, GoneError, InvalidError, KindNotServedError, ServerUnavailableError
from rukpak_py.kube.live_cache import LiveCache, OnChange
from rukpak_py.kube.metadata import LiveObject, decode_metadata
from rukpak_py.kube.pace import Backoff
from rukpak_py.kube.resources import Resource
from rukpak_py.kube.seen_versions import OnRestore, number_of
from rukpak_py.kube.watching import WatchEvent, WatchStatus, WatchTracker

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
WATCH_LIST = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
ABSENT_AFTER = 2  # answers "not served" in a row before a kind counts as gone
SILENCES = 2  # in a row before the last version is not trusted any more
log = logging.getLogger(__name__)


class WatchEnding(Enum):
    CLEAN = "clean"  # the server ended it: its time was up, or the definition was edited
    BROKEN = "broken"  # the connection was lost or never made
    EXPIRED = "expired"  # the version we know is too old
    SILENT = "silent"  # neither event nor bookmark for too long
    BUSY = "busy"  # 429, 5xx: the server wants us to wait
    ABSENT = "absent"  # the kind is not served
    REFUSED = "refused"  # no right, or the request is not understood
    NO_WATCH_LIST = "no-watch-list"  # the server does not send initial events


@dataclass(frozen=True, kw_only=True)
class InformerSettings:
    idle_seconds: float = 90.0  # bookmarks come every 60 s
    initial_seconds: float = 60.0  # for the initial events; then LIST is tried
    first_wait: float = 0.5
    longest_wait: float = 30.0
    spread_seconds: float = 1.0  # a fresh start after 410 is put off by up to this


class Informer:
    def __init__(
        self,
        client: Client,
        resource: Resource,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        full: bool = False,
        keep: bool = True,
        page: int | None = None,
        on_change: OnChange | None = None,
        on_restore: OnRestore | None = None,
        settings: InformerSettings | None = None,
    ) -> None:
        """`full`: whole objects and not only metadata. `keep=False`: they are for `on_change` and not remembered.

        `page`: how many of them may be in memory, where they have to be listed; else the server's cache sends all.
        `on_restore` is called when the server's newest version is older than what this informer has seen.
        """
        self.resource = resource
        self.synced = asyncio.Event()
        self.served = True  # False while the kind does not exist
        self.last_event = 0.0  # wall clock, as the metric
        self._client = client
        self._namespace = namespace
        self._selection = selection(label_selector, field_selector)
        self._field_selector = field_selector
        self._full = full
        self._page = page
        self._settings = settings or InformerSettings()
        self._cache = LiveCache(keep=keep, on_change=on_change)
        self._on_restore = on_restore
        self._tracker = WatchTracker(resource, reader="informer", selector=",".join(self._selection.values()))
        self._position: str | None = None  # the version to resume from; None: a fresh start is due
        self._highest = 0  # the highest position so far
        self._lost_connection = False  # since versions were compared
        self._lists = False  # the server does not do WatchList
        self._lists_next = False  # the initial events did not end in time; perhaps it was only slow
        self._backoff = Backoff(first=self._settings.first_wait, limit=self._settings.longest_wait)
        self._absences = 0
        self._silences = 0
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._labels = (resource.gvk.group, resource.plural)

    def __len__(self) -> int:
        return len(self._cache)

    def __iter__(self) -> Iterator[LiveObject]:
        return iter(self._cache)

    def get(self, key: ObjectKey) -> LiveObject | None:
        return self._cache.get(key)

    @property
    def status(self) -> WatchStatus | None:
        """The status of the watch; None while it does not run."""
        return self._tracker.status if self._task is not None else None

    def start(self) -> None:
        if self._task is None:
            self._tracker.answered()
            self._task = asyncio.create_task(self._run(), name=f"informer {self.resource.plural}")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None
            self._tracker.ended()

    async def wait_synced(self, seconds: float | None = None) -> None:
        """Wait until the cache was complete once (a kind that is not served has no objects). Raises `TimeoutError`."""
        async with asyncio.timeout(seconds):
            await self.synced.wait()

    def nudge(self) -> None:
        """Try again now instead of after the wait: the kind was seen to appear, the server to come back."""
        self._wake.set()

    async def _run(self) -> None:
        of_no_reconcile()
        while True:
            self._tracker.active()
            ending, at_least = await self._watch_once()
            self._tracker.active()
            WATCH_ENDS.labels(*self._labels, ending.value).inc()
            wait = self._consequence(ending, at_least)
            log.debug("the watch of %s ended: %s; again in %.1f s", self.resource.plural, ending.value, wait)
            self._wake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._wake.wait()

    def _consequence(self, ending: WatchEnding, at_least: float | None) -> float:
        """Prepare the next start after this ending; return how long to wait for it."""
        self._absences = self._absences + 1 if ending is WatchEnding.ABSENT else 0
        self._silences = self._silences + 1 if ending is WatchEnding.SILENT else 0
        match ending:
            case WatchEnding.EXPIRED | WatchEnding.REFUSED:
                self._position = None
            case WatchEnding.BROKEN:
                self._lost_connection = True
            case WatchEnding.NO_WATCH_LIST:
                self._position, self._lists = None, True
            case WatchEnding.SILENT if self._cache.is_starting:
                self._lists_next = True
            case WatchEnding.SILENT if self._silences >= SILENCES:
                self._position = None
            case WatchEnding.ABSENT if self._absences >= ABSENT_AFTER:
                self._position, self.served = None, False
                SYNTHESISED_DELETES.labels(*self._labels).inc(self._cache.clear())
                self.synced.set()
            case _:
                pass
        spread = random.random() * self._settings.spread_seconds if ending is WatchEnding.EXPIRED else 0.0  # noqa: S311 - jitter
        return self._backoff.next(at_least) + spread

    async def _watch_once(self) -> tuple[WatchEnding, float | None]:
        """Follow one watch to its end, whatever it is: this never raises."""
        try:
            await self._follow()
        except GoneError:
            return WatchEnding.EXPIRED, None
        except KindNotServedError as error:
            self._tracker.refused(error)
            return WatchEnding.ABSENT, None
        except ServerUnavailableError as error:
            self._tracker.refused(error)
            return (WatchEnding.BUSY if error.status else WatchEnding.BROKEN), error.retry_after
        except InvalidError as error:
            if self._cache.is_starting and not self._lists:
                return WatchEnding.NO_WATCH_LIST, None
            return self._refused(error)
        except ApiError as error:
            return self._refused(error)
        except TimeoutError:
            return WatchEnding.SILENT, None
        except Exception:
            log.exception("the watch of %s failed", self.resource.plural)
            return WatchEnding.BROKEN, None
        return WatchEnding.CLEAN, None

    def _refused(self, error: ApiError) -> tuple[WatchEnding, None]:
        self._tracker.refused(error)
        log.warning("%s", error)
        return WatchEnding.REFUSED, None

    async def _follow(self) -> None:
        if self._highest and (self._lost_connection or self._position is None):
            await self._compare_versions()
        if self._position is None and (self._lists or self._lists_next):
            self._lists_next = False
            await self._list()
        params = {**self._selection, "allowWatchBookmarks": "true"}
        if self._position is None:
            self._cache.begin(consistent=True)
            params |= WATCH_LIST
        else:
            params["resourceVersion"] = self._position
        limit = self._settings.initial_seconds if self._position is None else None
        on_open = self._tracker.active if self._position is None else self._tracker.answered
        watch = self._client.watch(
            self.resource,
            self._namespace,
            params=params,
            idle=self._settings.idle_seconds,
            full=self._full,
            on_open=on_open,
        )
        async with asyncio.timeout(limit) as deadline, aclosing(watch) as batches:
            async for batch in batches:
                for event in batch:
                    self._take(event)
                self._arrived()
                if self._position is not None and deadline.when() is not None:
                    deadline.reschedule(None)

    async def _compare_versions(self) -> None:
        """A server whose newest version is older than what we have seen has other data: etcd was restored.

        `on_restore` is called before the older objects are read, so that no caller acts on them.
        """
        version = await self._client.current_version(
            self.resource, self._namespace, field_selector=self._field_selector
        )
        current = number_of(version)
        self._lost_connection = False
        if 0 < current < self._highest:
            if self._on_restore is not None:
                self._on_restore(self.resource, self._highest, current)
            self._position, self._highest = None, current

    async def _list(self) -> None:
        if self._page is not None:
            await self._list_by_page(self._page)
            return
        listing = await self._client.list_cached(
            self.resource, self._namespace, params=self._selection, full=self._full
        )
        self._cache.begin(consistent=False)
        for live in listing.items:
            self._cache.observe(live)
        self._complete(listing.resource_version)
        self._arrived()

    async def _list_by_page(self, page: int) -> None:
        self._cache.begin(consistent=True)
        pages = self._client.list_by_page(
            self.resource, self._namespace, params=self._selection, page=page, full=self._full
        )
        version = ""
        async with aclosing(pages):
            async for found in pages:
                for live in found.items:
                    self._cache.observe(live)
                version = found.resource_version
        self._complete(version)
        self._arrived()

    def _take(self, event: WatchEvent) -> None:
        json = bytes(event.object)  # a copy of its own: the event is a view on what arrived with it
        try:
            if event.type == "BOOKMARK":
                self._bookmark(json)
                return
            live = live_object(self.resource, json, full=self._full)
        except msgspec.MsgspecError as error:
            log.error("an object of %s cannot be read and is left out: %s", self.resource.plural, error)  # noqa: TRY400 - no traceback: it is about what was sent
            return
        if event.type == "DELETED":
            self._cache.forget(live)
        else:
            self._cache.observe(live)
        if not self._cache.is_starting:
            self._position = live.metadata.resource_version

    def _bookmark(self, json: bytes) -> None:
        metadata = decode_metadata(json)
        if not self._cache.is_starting:
            self._position = metadata.resource_version
        elif metadata.annotations.get(INITIAL_EVENTS_END) == "true":
            self._complete(metadata.resource_version)

    def _complete(self, position: str) -> None:
        """A fresh start is complete: what it did not send does not exist."""
        revealed = self._cache.finish(number_of(position))
        SYNTHESISED_DELETES.labels(*self._labels).inc(revealed)
        self._position, self.served = position, True
        self.synced.set()

    def _arrived(self) -> None:
        self.last_event = self._tracker.delivered()
        self._absences = self._silences = 0
        if self._position is not None:
            self._highest = max(self._highest, number_of(self._position))
            self._backoff.reset()

"""The controllers' `Content`: the store on disk in threads, formats in worker processes.

Content that stays small is checked and rendered in place; what may become large goes to a worker process, so that
parsing YAML never holds the event loop, and a parser that dies, takes all memory or never ends takes a worker with it
and not the operator. What the content may become decides, not its size.

What was stored a moment ago is not swept: the status that refers to it may still be on its way.

A store that cannot be opened when the operator begins to lead is opened by the first call that needs it. Until then
each call fails with the cause, which is what the status of its Bundle says.

Renderings that cannot be made again are kept beside it. An upgrade by values leaves no Bundle behind whose deletion
would bring a sweep, so their store asks for one itself when much was added.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from time import monotonic
from typing import ParamSpec, Protocol, TypeVar

from rukpak_py.content.disk import StoreUnavailableError
from rukpak_py.content.records import InUse
from rukpak_py.content.renderings import RenderingStore
from rukpak_py.content.store import Store, StoredForm
from rukpak_py.content.tree import Tree
from rukpak_py.controllers.content_records import ContentRecords
from rukpak_py.controllers.jobs import KeyedLock
from rukpak_py.controllers.ports import ReplyToLookup
from rukpak_py.core.limits import Limits
from rukpak_py.formats.by_class import Classes
from rukpak_py.formats.format import SMALL, RenderedContent, RenderOptions
from rukpak_py.formats.stored_rendering import MARKS_BYTES, lines_of, read_lines
from rukpak_py.sources.source import Workers
from rukpak_py.workers import format_calls as calls
from rukpak_py.workers.child_process import Reply

LOG = logging.getLogger(__name__)
RECENT_SECONDS = 600.0
LOADED_BYTES = 8 * 1024 * 1024  # of trees that stay in memory: most are rendered right after they were stored
RECENT_RENDERING_SECONDS = 60.0
MANY_RENDERINGS = 50  # renderings that were added since the last sweep

Arguments = ParamSpec("Arguments")
Given = TypeVar("Given")
Result = TypeVar("Result")


class AnsweringWorkers(Workers, Protocol):
    async def run_answering(
        self,
        reply: Reply | None,
        call: Callable[Arguments, Result],
        /,
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """`run`, for a call that asks something in between."""
        ...


class StoredContent:
    def __init__(self, directory: Path, limits: Limits, workers: AnsweringWorkers, *, helm: str = "") -> None:
        """`helm`: the program that renders charts; empty: the one on PATH."""
        self._directory = directory
        self._limits = limits
        self._helm = helm or None
        self.records = ContentRecords(directory)
        self._opened: Store | None = None
        self._opening = asyncio.Lock()
        self._reading = KeyedLock()  # by digest: what is large is hashed once, and not by each of its clients
        self._workers = workers
        self._recent: dict[str, float] = {}
        self._loaded: OrderedDict[str, Tree] = OrderedDict()
        self.news = asyncio.Event()  # set, and replaced, when content was stored or will not be

    async def open(self) -> None:
        """Make the directory usable, and remove what a crash left behind."""
        try:
            await self._store()
        except StoreUnavailableError as error:
            LOG.warning("%s. The status of each Bundle that needs it says so; it is tried again", error)

    async def check(self, classes: Classes, tree: Tree, *, is_directory: bool) -> Tree | None:
        options = calls.CheckOptions(is_directory=is_directory, limits=self._limits)
        return await self._work(calls.check, classes, tree, options)

    async def keep(self, tree: Tree, converted: Tree | None = None) -> str:
        digest = await asyncio.to_thread((await self._store()).put, tree, converted)
        self._recent[digest] = monotonic()
        self._remember(digest, tree)
        self.announce()
        return digest

    def announce(self) -> None:
        """Wake the callers that wait for content."""
        news, self.news = self.news, asyncio.Event()
        news.set()

    async def has(self, digest: str) -> bool:
        return await asyncio.to_thread((await self._store()).has, digest)

    async def archive(self, digest: str, form: StoredForm) -> BufferedReader | None:
        """The file of the stored content, as it is served."""
        store = await self._store()
        async with self._reading.of(digest):
            return await asyncio.to_thread(store.open_archive, digest, form)

    async def link(self, bundle: str, digest: str, form: StoredForm) -> None:
        await asyncio.to_thread((await self._store()).link, bundle, digest, form)

    async def is_linked(self, bundle: str, digest: str) -> bool:
        return await asyncio.to_thread((await self._store()).is_linked, bundle, digest)

    async def unlink(self, bundle: str) -> None:
        await asyncio.to_thread((await self._store()).unlink, bundle)

    async def sweep(self, keep: AbstractSet[str], linked: AbstractSet[str], in_use: InUse) -> None:
        """Delete the records of what is not in use, and content that neither a record nor one of these digests names.

        `linked`: names of Bundles; the links of all others go.
        """
        store, now = await self._store(), monotonic()
        recorded = await self.records.sweep(in_use)
        self._recent = {digest: at for digest, at in self._recent.items() if now - at < RECENT_SECONDS}
        await asyncio.to_thread(store.sweep, keep | recorded | self._recent.keys(), linked)

    def is_content_of(self, digest: str, *, bundle: str, deployment: str) -> bool:
        return self.records.is_content_of(digest, bundle=bundle, deployment=deployment)

    async def load(self, digest: str) -> Tree | None:
        """Small content that was stored or loaded lately comes from memory; the digest says that it is the same."""
        if digest in self._loaded:
            self._loaded.move_to_end(digest)
            return self._loaded[digest]
        store = await self._store()
        async with self._reading.of(digest):
            tree = await asyncio.to_thread(store.get, digest)
        if tree is not None:
            self._remember(digest, tree)
        return tree

    def renders_in_place(self, classes: Classes, tree: Tree) -> bool:
        return calls.is_small(classes, tree)

    async def render(self, classes: Classes, tree: Tree, options: RenderOptions) -> RenderedContent:
        return await self._work(calls.render, classes, tree, self._limited(options))

    async def render_with_lookups(
        self, classes: Classes, tree: Tree, options: RenderOptions, reply: ReplyToLookup
    ) -> RenderedContent:
        limited = self._limited(options)
        return await self._workers.run_answering(reply, calls.render_asking, classes, tree, limited)

    def _limited(self, options: RenderOptions) -> RenderOptions:
        return replace(options, limits=self._limits, helm=self._helm)

    def _remember(self, digest: str, tree: Tree) -> None:
        if tree.total_bytes > SMALL:
            return
        self._loaded[digest] = tree
        while len(self._loaded) * SMALL > LOADED_BYTES:
            self._loaded.popitem(last=False)

    async def _store(self) -> Store:
        async with self._opening:
            if self._opened is None:
                opened = await asyncio.to_thread(Store, self._directory, self._limits)
                await self.records.open()
                self._opened = opened
            return self._opened

    async def _work(
        self, work: Callable[[Classes, Tree, Given], Result], classes: Classes, tree: Tree, given: Given
    ) -> Result:
        if calls.is_small(classes, tree):
            return work(classes, tree, given)
        return await self._workers.run(work, classes, tree, given)


class StoredRenderings:
    def __init__(self, directory: Path, limits: Limits, *, request_sweep: Callable[[], None]) -> None:
        most = limits.rendered_bytes + limits.rendered_objects * MARKS_BYTES
        self._store = RenderingStore(directory, most=most)
        self._request_sweep = request_sweep
        self._recent: dict[str, float] = {}
        self._added = 0

    async def load(self, key: str) -> RenderedContent | None:
        return await asyncio.to_thread(self._load, key)

    async def keep(self, key: str, content: RenderedContent) -> None:
        self._recent[key] = monotonic()
        self._added += 1
        await asyncio.to_thread(lambda: self._store.put(key, lines_of(content)))
        if self._added >= MANY_RENDERINGS:
            self._request_sweep()

    async def sweep(self, keep: AbstractSet[str]) -> None:
        now, self._added = monotonic(), 0
        self._recent = {key: at for key, at in self._recent.items() if now - at < RECENT_RENDERING_SECONDS}
        await asyncio.to_thread(self._store.sweep, keep | self._recent.keys())

    def _load(self, key: str) -> RenderedContent | None:
        data = self._store.get(key)
        return read_lines(data) if data is not None else None

"""The controllers' `Renderings`: the store on disk, in threads.

What was stored a moment ago is not swept: the caches may not show yet what refers to it. An upgrade by values leaves
no Bundle behind whose deletion would bring a sweep, so the store asks for one itself when much was added.
"""

import asyncio
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from pathlib import Path
from time import monotonic

from rukpak_py.content.renderings import RenderingStore
from rukpak_py.core.limits import Limits
from rukpak_py.formats.format import RenderedContent
from rukpak_py.formats.stored_rendering import MARKS_BYTES, lines_of, read_lines

RECENT_SECONDS = 60.0
MANY = 50  # renderings that were added since the last sweep


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
        if self._added >= MANY:
            self._request_sweep()

    async def sweep(self, keep: AbstractSet[str]) -> None:
        now, self._added = monotonic(), 0
        self._recent = {key: at for key, at in self._recent.items() if now - at < RECENT_SECONDS}
        await asyncio.to_thread(self._store.sweep, keep | self._recent.keys())

    def _load(self, key: str) -> RenderedContent | None:
        data = self._store.get(key)
        return read_lines(data) if data is not None else None

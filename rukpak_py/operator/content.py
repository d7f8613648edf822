"""The controllers' `Content`: the store on disk in threads, formats in worker processes.

Small content is checked and rendered in place; what is large goes to a worker process, so that parsing YAML never holds
the event loop, and a parser that dies or never ends takes a worker with it and not the operator.

What was stored a moment ago is not swept: the status that refers to it may still be on its way.
"""

import asyncio
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import ParamSpec, TypeVar

from rukpak_py.content.store import Store
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import Limits
from rukpak_py.core.objects import Object
from rukpak_py.formats import Format, RenderOptions, format_of_class
from rukpak_py.operator.worker_processes import WorkerProcesses

LARGE = 64 * 1024  # bytes of content; below it a worker's round trip costs more than the work
RECENT = 600.0  # seconds

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class StoredContent:
    def __init__(self, directory: Path, limits: Limits) -> None:
        self._directory = directory
        self._limits = limits
        self._opened: Store | None = None
        self._workers = WorkerProcesses()
        self._recent: dict[str, float] = {}

    async def open(self) -> None:
        """Make the directory usable, and remove what a crash left behind."""
        self._opened = await asyncio.to_thread(Store, self._directory, self._limits)

    async def close(self) -> None:
        self._workers.close()

    async def check(self, provisioner_class: str, tree: Tree) -> None:
        await self._work(tree, _check, provisioner_class, tree, self._limits)

    async def keep(self, tree: Tree) -> str:
        digest = await asyncio.to_thread(self._store.put, tree)
        self._recent[digest] = monotonic()
        return digest

    async def has(self, digest: str) -> bool:
        return await asyncio.to_thread(self._store.has, digest)

    async def link(self, bundle: str, digest: str) -> None:
        await asyncio.to_thread(self._store.link, bundle, digest)

    async def unlink(self, bundle: str) -> None:
        await asyncio.to_thread(self._store.unlink, bundle)

    async def sweep(self, keep: AbstractSet[str], linked: AbstractSet[str]) -> None:
        now = monotonic()
        self._recent = {digest: at for digest, at in self._recent.items() if now - at < RECENT}
        await asyncio.to_thread(self._store.sweep, keep | self._recent.keys(), linked)

    async def render(self, provisioner_class: str, digest: str, options: RenderOptions) -> list[Object] | None:
        tree = await asyncio.to_thread(self._store.get, digest)
        if tree is None:
            return None
        return await self._work(tree, _render, provisioner_class, tree, replace(options, limits=self._limits))

    @property
    def _store(self) -> Store:
        if self._opened is None:
            raise UnavailableError("the content store is not open yet")
        return self._opened

    async def _work(
        self, tree: Tree, call: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        if tree.total_bytes <= LARGE:
            return call(*args, **kwargs)
        return await self._workers.run(call, *args, **kwargs)


def _format(provisioner_class: str) -> Format:
    found = format_of_class(provisioner_class)
    if found is None:
        raise ContentError(f"no format for the provisioner class {provisioner_class!r}")
    return found


def _check(provisioner_class: str, tree: Tree, limits: Limits) -> None:
    _format(provisioner_class).check(tree, limits=limits)


def _render(provisioner_class: str, tree: Tree, options: RenderOptions) -> list[Object]:
    return _format(provisioner_class).render(tree, options)

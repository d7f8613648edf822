"""Content of ConfigMaps: each key is a file below the item's path.

Two different ConfigMaps that give the same file are an error that names both; all such clashes are told at once. So is
a ConfigMap that is listed twice with the same path, which the original did not notice. Limits hold while reading, and
come before clashes.
"""

import posixpath
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from rukpak_py.api.source_types import ConfigMapSource
from rukpak_py.content.tree import Tree, TreeBuilder
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.sources.source import Fetched, Fetcher, FetchRequest, no_wait

_SHOWN = 100  # characters of a path that is too long


@dataclass(frozen=True, kw_only=True)
class ConfigMap:
    """`data` and `binaryData` together; the API server keeps their keys apart."""

    data: Mapping[str, bytes]


class ConfigMaps(Protocol):
    async def config_map(self, name: str) -> ConfigMap:
        """`UnavailableError` when there is none (yet)."""
        ...


class ConfigMapsSource(Fetcher):
    """ConfigMaps of the API server: all in one lane, and pinned as they are read, being immutable."""

    def __init__(self, config_maps: ConfigMaps, limits: Limits) -> None:
        self._config_maps = config_maps
        self._limits = limits

    async def fetch(self, request: FetchRequest) -> Fetched:
        tree = await fetch(request.source.config_maps, self._config_maps, self._limits, request.content_arrives)
        return Fetched(tree=tree, resolved=request.source)


async def fetch(
    items: Sequence[ConfigMapSource],
    config_maps: ConfigMaps,
    limits: Limits,
    content_arrives: Callable[[], Awaitable[None]] = no_wait,
) -> Tree:
    if not items:
        raise ContentError("bundle source configmaps configuration is unset")
    paths: dict[str, list[str]] = {}  # by ConfigMap, so that each is read once and let go before the next
    for item in items:
        paths.setdefault(item.config_map.name, []).append(_folder(item.path, limits))
    files = _Files(limits)
    for name, folders in paths.items():
        data = (await config_maps.config_map(name)).data
        await content_arrives()
        for folder in folders:
            for key, value in data.items():
                files.add(posixpath.normpath(posixpath.join(folder, key)), value, giver=name)
    return files.build()


def _folder(path: str, limits: Limits) -> str:
    """Judged as it was written: normalising what is long costs as much again for each key of the ConfigMap."""
    if len(path.encode(errors="surrogatepass")) > limits.path_bytes:
        raise limits.exceeded("path_bytes", f"the length of path {path[:_SHOWN]!r}…")
    return posixpath.normpath(path) if path else ""


class _Files:
    """The Tree as it grows, and who gave each file. The first limit that is hit ends the reading."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._builder = TreeBuilder(limits)
        self._givers: dict[str, list[str]] = {}
        self._given = 0

    def add(self, path: str, value: bytes, *, giver: str) -> None:
        self._given += 1
        if self._given > self._limits.content_files:  # the builder counts a file that is given often only once
            raise self._limits.exceeded("content_files", "the number of files")
        givers = self._givers.setdefault(path, [])
        givers.append(giver)
        if len(givers) == 1:
            self._builder.add(path, value)

    def build(self) -> Tree:
        clashes = [
            f'duplicate path "{path}" found in configmaps [{" ".join(sorted(names))}]'
            for path, names in sorted(self._givers.items())
            if len(names) > 1
        ]
        if clashes:
            raise ContentError(clashes[0] if len(clashes) == 1 else f"[{', '.join(clashes)}]")
        return self._builder.build()

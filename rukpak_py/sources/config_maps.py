"""Content of ConfigMaps: each key is a file below the item's path.

Two different ConfigMaps that give the same file are an error that names both; all such clashes are told at once. So is
a ConfigMap that is listed twice with the same path, which the original did not notice.
"""

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from rukpak_py.api.source import ConfigMapSource
from rukpak_py.content.tree import Tree, TreeBuilder
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits


@dataclass(frozen=True, kw_only=True)
class ConfigMap:
    """`data` and `binaryData` together; the API server keeps their keys apart."""

    data: Mapping[str, bytes]


class ConfigMaps(Protocol):
    async def get(self, name: str) -> ConfigMap:
        """`UnavailableError` when there is none (yet)."""
        ...


async def fetch(items: Sequence[ConfigMapSource], config_maps: ConfigMaps, limits: Limits) -> Tree:
    if not items:
        raise ContentError("bundle source configmaps configuration is unset")
    files: dict[str, bytes] = {}
    givers: dict[str, list[str]] = {}
    for item in items:
        name = item.config_map.name
        for key, value in (await config_maps.get(name)).data.items():
            path = posixpath.normpath(posixpath.join(item.path, key))
            givers.setdefault(path, []).append(name)
            files[path] = value
    clashes = [
        f'duplicate path "{path}" found in configmaps [{" ".join(sorted(names))}]'
        for path, names in sorted(givers.items())
        if len(names) > 1
    ]
    if clashes:
        raise ContentError(clashes[0] if len(clashes) == 1 else f"[{', '.join(clashes)}]")
    builder = TreeBuilder(limits)
    for path, value in files.items():
        builder.add(path, value)
    return builder.build()

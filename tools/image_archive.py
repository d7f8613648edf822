"""A docker-archive as a reader sees it: its configuration, and the files of all layers together."""

from __future__ import annotations

import hashlib
import json
import tarfile
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class ImageArchive:
    config: dict[str, Any]
    digest: str  # of the configuration, in hexadecimal: the id of the image
    members: dict[str, tarfile.TarInfo]  # by path without a slash before it
    _layer_of: dict[str, tarfile.TarFile]

    def read(self, path: str) -> bytes:
        file = self._layer_of[path].extractfile(self.members[path])
        if file is None:
            raise ValueError(f"{path} is not a file in the image")
        return file.read()


@contextmanager
def opened(archive: Path) -> Iterator[ImageArchive]:
    """Layers are read from the archive while the block lasts. Deletions by a later layer are not understood."""
    with tarfile.open(archive) as outer:
        (manifest,) = json.loads(_read(outer, "manifest.json"))
        members: dict[str, tarfile.TarInfo] = {}
        layer_of: dict[str, tarfile.TarFile] = {}
        for name in manifest["Layers"]:
            layer = tarfile.open(fileobj=outer.extractfile(name))  # noqa: SIM115 - of the outer archive, which is closed
            for member in layer:
                path = member.name.removeprefix("./").rstrip("/")
                members[path], layer_of[path] = member, layer
        config = _read(outer, manifest["Config"])
        digest = hashlib.sha256(config).hexdigest()
        yield ImageArchive(config=json.loads(config), digest=digest, members=members, _layer_of=layer_of)


def _read(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    if file is None:
        raise ValueError(f"{name} is not a file in the archive")
    return file.read()

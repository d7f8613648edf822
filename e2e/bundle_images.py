"""Images of plain bundles that only the node has, as the original's own tests have them: no registry is asked."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING

from e2e.cluster.image_archive import ImageConfiguration, write_image_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

REPOSITORY = "localhost/testdata/bundles/plain-v0"
SETTINGS = b"{apiVersion: v1, kind: ConfigMap, metadata: {name: of-an-image, namespace: default}, data: {key: value}}\n"
# By tag; what ends with a slash is a directory.
CONTENTS: Mapping[str, Mapping[str, bytes]] = {
    "valid": {"manifests/": b"", "manifests/settings.yaml": SETTINGS},
    "empty": {".gitkeep": b""},
    "no-manifests": {"manifests/": b""},
    "subdir": {"manifests/": b"", "manifests/settings.yaml": SETTINGS, "manifests/emptydir/": b""},
}


def name(tag: str) -> str:
    return f"{REPOSITORY}:{tag}"


def write_all(folder: Path) -> Iterator[Path]:
    for tag, files in CONTENTS.items():
        layer, archive = folder / f"{tag}.layer.tar", folder / f"{tag}.tar"
        _write_layer(layer, files)
        write_image_of(layer, archive, name=name(tag), configuration=ImageConfiguration())
        yield archive


def _write_layer(target: Path, files: Mapping[str, bytes]) -> None:
    with tarfile.open(target, "w", format=tarfile.USTAR_FORMAT) as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(path.rstrip("/"))
            member.type = tarfile.DIRTYPE if path.endswith("/") else tarfile.REGTYPE
            member.mode, member.size = (0o755 if member.isdir() else 0o644), len(content)
            archive.addfile(member, io.BytesIO(content))

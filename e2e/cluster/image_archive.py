"""Container images from a few files, without any engine: one layer, written as a docker-archive.

The same files give the same bytes: no times, no owners, fixed order.
"""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster.files import write_private

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, kw_only=True)
class Image:
    """`files` are absolute paths in the image; all of them are executable."""

    name: str
    files: Mapping[str, bytes]
    entrypoint: Sequence[str]
    user: str = "65532:65532"


def write_image(image: Image, target: Path) -> Path:
    layer = _tar({path.lstrip("/"): (0o755, content) for path, content in image.files.items()})
    layer_digest = hashlib.sha256(layer).hexdigest()
    configuration = _json(
        {
            "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()),
            "os": "linux",
            "config": {"Entrypoint": list(image.entrypoint), "User": image.user, "WorkingDir": "/"},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]},
        }
    )
    config_name, layer_name = f"{hashlib.sha256(configuration).hexdigest()}.json", f"{layer_digest}.tar"
    manifest = _json([{"Config": config_name, "RepoTags": [image.name], "Layers": [layer_name]}])
    members = {config_name: configuration, layer_name: layer, "manifest.json": manifest}
    write_private(target, _tar({name: (0o644, content) for name, content in members.items()}))
    return target


def _tar(members: Mapping[str, tuple[int, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, (mode, content) in sorted(members.items()):
            entry = tarfile.TarInfo(name)
            entry.mode, entry.size = mode, len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()

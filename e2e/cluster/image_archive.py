"""Container images without any engine: one layer, written as a docker-archive.

`write_image` makes one of a few files: the same files give the same bytes (no times, no owners, fixed order).
`write_image_of` makes one of a whole file system that is a tar already.
"""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from e2e.cluster.files import write_private

NAME_ANNOTATION = "io.containerd.image.name"  # in the index of an OCI archive
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, kw_only=True)
class Image:
    """`files` are absolute paths in the image; all of them are executable."""

    name: str
    files: Mapping[str, bytes]
    entrypoint: Sequence[str] = ()
    user: str = "65532:65532"
    environment: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class ImageConfiguration:
    entrypoint: Sequence[str] = ()
    user: str = ""
    environment: Sequence[str] = ()
    more: Mapping[str, str] = field(default_factory=dict)

    def document(self, layer_digest: str) -> bytes:
        config = {
            "Entrypoint": list(self.entrypoint),
            "Env": list(self.environment),
            "User": self.user,
            "WorkingDir": "/",
            **self.more,
        }
        return _json(
            {
                "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()),
                "os": "linux",
                "config": config,
                "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]},
            }
        )


def write_image(image: Image, target: Path) -> Path:
    layer = _tar({path.lstrip("/"): (0o755, content) for path, content in image.files.items()})
    configuration = ImageConfiguration(entrypoint=image.entrypoint, user=image.user, environment=image.environment)
    layer_name, members = _members(image.name, configuration, hashlib.sha256(layer).hexdigest())
    write_private(target, _tar({name: (0o644, content) for name, content in {**members, layer_name: layer}.items()}))
    return target


def write_image_of(layer: Path, target: Path, *, name: str, configuration: ImageConfiguration) -> None:
    with layer.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    layer_name, members = _members(name, configuration, digest)
    with tarfile.open(target, "w") as archive:
        for member, content in members.items():
            archive.addfile(_entry(member, 0o644, len(content)), io.BytesIO(content))
        archive.add(layer, layer_name)


def names_in(archive: Path) -> list[str]:
    """The images of a docker-archive or an OCI archive."""
    with tarfile.open(archive) as opened:
        documents = {member.name: member for member in opened if member.name in {"manifest.json", "index.json"}}
        described = {name: json.load(opened.extractfile(member) or io.BytesIO()) for name, member in documents.items()}
    if "manifest.json" in described:
        return [name for entry in described["manifest.json"] for name in entry.get("RepoTags") or ()]
    annotations = [one.get("annotations", {}) for one in described.get("index.json", {}).get("manifests", ())]
    return [one[NAME_ANNOTATION] for one in annotations if NAME_ANNOTATION in one]


def _members(name: str, configuration: ImageConfiguration, digest: str) -> tuple[str, dict[str, bytes]]:
    """The layer's name, and what describes it."""
    document, layer_name = configuration.document(digest), f"{digest}.tar"
    config_name = f"{hashlib.sha256(document).hexdigest()}.json"
    manifest = _json([{"Config": config_name, "RepoTags": [name], "Layers": [layer_name]}])
    return layer_name, {config_name: document, "manifest.json": manifest}


def _tar(members: Mapping[str, tuple[int, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, (mode, content) in sorted(members.items()):
            archive.addfile(_entry(name, mode, len(content)), io.BytesIO(content))
    return buffer.getvalue()


def _entry(name: str, mode: int, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.mode, entry.size = mode, size
    return entry


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()

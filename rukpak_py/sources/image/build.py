"""An image of a bundle made from its files, without a container engine: the same files give the same digest anywhere.

It is what the Dockerfile of a bundle makes FROM scratch: one layer per directory, labels in the configuration, nothing
to run. Layers are canonical tars, not compressed, because what gzip writes depends on the library and its version. The
platform is linux/amd64 and one manifest is all there is: tools do not compare the platform of a lone manifest with the
machine that pulls it, and images that Dockerfiles make on most machines say the same.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from rukpak_py.content.canonical import write_tar
from rukpak_py.content.tree import Tree, TreeBuilder
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.sources.image.reference import parse_reference

MANIFEST_TYPE: Final = "application/vnd.oci.image.manifest.v1+json"
_CONFIG_TYPE: Final = "application/vnd.oci.image.config.v1+json"
_INDEX_TYPE: Final = "application/vnd.oci.image.index.v1+json"
_LAYER_TYPE: Final = "application/vnd.oci.image.layer.v1.tar"
_NAME: Final = "org.opencontainers.image.ref.name"
_FULL_NAME: Final = "io.containerd.image.name"
# What was read is within the limits of content; a layer is all of it in one file.
_LIMITS: Final = replace(
    DEFAULT_LIMITS, file_bytes=DEFAULT_LIMITS.image_bytes, content_bytes=DEFAULT_LIMITS.image_bytes
)


@dataclass(frozen=True, kw_only=True)
class Blob:
    media_type: str
    data: bytes

    @property
    def digest(self) -> str:
        return f"sha256:{hashlib.sha256(self.data).hexdigest()}"

    @property
    def path(self) -> str:
        """The path of the blob in a layout."""
        return f"blobs/{self.digest.replace(':', '/')}"

    def descriptor(self, **fields: Any) -> dict[str, Any]:
        return {"mediaType": self.media_type, "digest": self.digest, "size": len(self.data), **fields}


@dataclass(frozen=True, kw_only=True)
class Image:
    layers: tuple[Blob, ...]
    config: Blob
    manifest: Blob

    @property
    def digest(self) -> str:
        return self.manifest.digest

    @property
    def blobs(self) -> tuple[Blob, ...]:
        """Each after those that it names."""
        return (*self.layers, self.config, self.manifest)


def image_of(tree: Tree, *, labels: Mapping[str, str], created: int | None = None) -> Image:
    """`created` is a Unix time; without one the image does not say when it was made."""
    layers = tuple(_layer(tree, directory) for directory in tree.names_in(""))
    config = {
        **({} if created is None else {"created": datetime.fromtimestamp(created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}),
        "architecture": "amd64",
        "os": "linux",
        "config": {"Labels": dict(labels)},
        "rootfs": {"type": "layers", "diff_ids": [layer.digest for layer in layers]},
    }
    config_blob = Blob(media_type=_CONFIG_TYPE, data=_json(config))
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": config_blob.descriptor(),
        "layers": [layer.descriptor() for layer in layers],
    }
    return Image(layers=layers, config=config_blob, manifest=Blob(media_type=MANIFEST_TYPE, data=_json(manifest)))


def layout_of(image: Image, name: str = "") -> Tree:
    """The files of an OCI image layout.

    Its manifest.json is for `docker load`, which knew archives before there were layouts.
    """
    annotations, tags = {}, []
    if name:
        full_name = str(parse_reference(name))
        annotations, tags = {"annotations": {_NAME: name, _FULL_NAME: full_name}}, [full_name]
    index = {"schemaVersion": 2, "mediaType": _INDEX_TYPE, "manifests": [image.manifest.descriptor(**annotations)]}
    for_docker = {
        "Config": image.config.path,
        "RepoTags": tags,
        "Layers": [layer.path for layer in image.layers],
    }
    files = {"oci-layout": _json({"imageLayoutVersion": "1.0.0"}), "index.json": _json(index)}
    files |= {"manifest.json": _json([for_docker])} | {blob.path: blob.data for blob in image.blobs}
    builder = TreeBuilder(_LIMITS)
    for path, data in files.items():
        builder.add(path, data)
    return builder.build()


def _layer(tree: Tree, directory: str) -> Blob:
    builder = TreeBuilder(_LIMITS)
    for path in tree:
        if path.startswith(f"{directory}/"):
            builder.add(path, tree[path])
    builder.add_directory(directory)
    return Blob(media_type=_LAYER_TYPE, data=b"".join(write_tar(builder.build())))


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()

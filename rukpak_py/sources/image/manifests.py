"""The document in which a registry says what an image is made of: an index of images, or the manifest of one.

A document that could be read as both is refused, and so is one whose own type differs from the one that it came with:
two programs must not see two images under one digest. Old manifests (schema 1) have no digests that can be trusted.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.sources.image.descriptors import Descriptor, Platform, check_entries, document
from rukpak_py.sources.image.layout import INDEX_TYPES, is_image

_OCI_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
_DOCKER_MANIFEST: Final = "application/vnd.docker.distribution.manifest.v2+json"
MANIFEST_TYPES: Final = (_OCI_MANIFEST, _DOCKER_MANIFEST, *sorted(INDEX_TYPES))
_OLD_TYPE: Final = "application/vnd.docker.distribution.manifest.v1+"
_LAYERS: Final = frozenset(
    {
        *(
            f"application/vnd.oci.image.layer.{kind}v1.tar{packed}"
            for kind in ("", "nondistributable.")
            for packed in ("", "+gzip", "+zstd")
        ),
        *(
            f"application/vnd.docker.image.rootfs.{kind}diff.tar{packed}"
            for kind in ("", "foreign.")
            for packed in ("", ".gzip", ".zstd")
        ),
    }
)
_FALLBACK: Final = Platform(os="linux", architecture="amd64")  # what bundles are built as that run nowhere


class ImageDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    schema_version: int = 0
    media_type: str = ""
    config: Descriptor | None = None
    layers: list[Descriptor] | None = None
    manifests: list[Descriptor] | None = None


def read_document(data: bytes, content_type: str, limits: Limits) -> ImageDocument:
    """Read a document of a registry, whose digest is right."""
    given = content_type.partition(";")[0].strip().lower()
    found = document("the image's manifest", [data], ImageDocument, limits)
    if given.startswith(_OLD_TYPE) or found.schema_version == 1:
        raise ContentError(
            "the image has a manifest of schema 1, which is not supported: push it again, with a new tool"
        )
    if found.manifests is not None and (found.layers is not None or found.config is not None):
        raise ContentError("the image's manifest is ambiguous: it has members of an index and of an image")
    if given in MANIFEST_TYPES and found.media_type not in {"", given}:
        raise ContentError(f"the image's manifest says that it is {found.media_type[:200]!r}, but came as {given!r}")
    is_index = found.manifests is not None
    kind = found.media_type or (given if given in MANIFEST_TYPES else "")
    if (kind in INDEX_TYPES) != is_index and kind in MANIFEST_TYPES:
        raise ContentError(f"the image's manifest says that it is {kind!r}, but it is not")
    if is_index:
        check_entries("the image's index", len(found.manifests or []), limits)
    elif found.layers is None or found.config is None:
        raise ContentError("what the registry has is not an image: its manifest has no layers or no configuration")
    return found


def image_for(descriptors: Sequence[Descriptor], host: Platform) -> Descriptor:
    """The image for the platform; else the only one; else the one for amd64. Attestations are no images."""
    images = [one for one in descriptors if is_image(one)]
    if len(images) == 1:
        return images[0]
    for platform in (host, _FALLBACK):
        for one in images:
            if one.platform is not None and platform == Platform(
                os=one.platform.os, architecture=one.platform.architecture
            ):
                return one
    shown = ", ".join(sorted({str(one.platform or "no platform")[:100] for one in images})[:10]) or "none"
    raise ContentError(f"the image is not for {host}, but for {shown}")


def layers_of(manifest: ImageDocument, limits: Limits) -> Sequence[Descriptor]:
    """Layers of a file system, within the limits as far as the manifest says; no other types, no other places."""
    layers = manifest.layers or []
    check_entries("the image's manifest", len(layers), limits)
    for layer in layers:
        if layer.media_type not in _LAYERS:
            raise ContentError(f"the image has a layer of type {layer.media_type[:200]!r}, which is not a file system")
    if sum(max(layer.size, 0) for layer in layers) > limits.image_bytes:
        raise limits.exceeded("image_bytes", "the size of all layers together")
    return layers

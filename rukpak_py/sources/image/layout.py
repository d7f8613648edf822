"""An OCI image layout: from its index by digests to the one image that is meant, and to the layers of that image.

Which image: signatures and attestations are no images. Of what is left, the only one; or of those for several platforms
the one for this host, Linux. Anything else has no answer, and is told with what there is.
"""

import platform
import re
from collections.abc import Iterator

from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.sources.image.descriptors import (
    Blobs,
    Descriptor,
    Index,
    Manifest,
    Platform,
    check_entries,
    document,
    new_hash,
    verified,
)

MARK = "oci-layout"
INDEX = "index.json"

_INDEXES = {
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
}
_REFERENCE_TYPE = "vnd.docker.reference.type"
_NAME = "org.opencontainers.image.ref.name"
_REFERRER = re.compile(r"sha256-[0-9a-f]{64}(\.\w+)?")  # how registries name signatures and the like
_MOST_INDEXES = 4  # one inside the other
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386"}


def host_platform() -> Platform:
    machine = platform.machine().lower()
    return Platform(os="linux", architecture=_ARCHITECTURES.get(machine, machine))


def layers_of_layout(blobs: Blobs, *, limits: Limits, host: Platform) -> Iterator[Iterator[bytes]]:
    """The layers of the layout's image, lowest first, each verified as it streams by."""
    index = document(INDEX, blobs(INDEX), Index, limits)
    manifest = _manifest(blobs, index, limits, host)
    check_entries("the image's manifest", len(manifest.layers), limits)
    for layer in manifest.layers:
        yield verified(blobs(_path(layer)), layer)


def _manifest(blobs: Blobs, index: Index, limits: Limits, host: Platform) -> Manifest:
    for _ in range(_MOST_INDEXES):
        check_entries("the image's index", len(index.manifests), limits)
        chosen = choose(index.manifests, host)
        if chosen.size > limits.image_manifest_bytes:
            raise limits.exceeded("image_manifest_bytes", f"the size of manifest {chosen.digest}")
        chunks = verified(blobs(_path(chosen)), chosen)
        if chosen.media_type not in _INDEXES:
            return document(f"manifest {chosen.digest}", chunks, Manifest, limits)
        index = document(f"index {chosen.digest}", chunks, Index, limits)
    raise ContentError("the image's index leads from index to index and never to an image")


def choose(descriptors: list[Descriptor], host: Platform) -> Descriptor:
    images = {descriptor.digest: descriptor for descriptor in descriptors if _is_image(descriptor)}
    if len(images) == 1:
        return next(iter(images.values()))
    fitting = [image for image in images.values() if image.platform is not None and _fits(image.platform, host)]
    if len(fitting) == 1:
        return fitting[0]
    if not images:
        raise ContentError("the layout holds no image")
    names = ", ".join(sorted(_shown(image) for image in images.values())[:10])
    wanted = f"none of them for {host}" if not fitting else f"{len(fitting)} of them for {host}"
    raise ContentError(f"the layout holds {len(images)} images, {wanted} ({names}): save the one that is meant alone")


def _is_image(descriptor: Descriptor) -> bool:
    annotations = descriptor.annotations or {}
    return not (
        _REFERENCE_TYPE in annotations
        or _REFERRER.fullmatch(annotations.get(_NAME, ""))
        or descriptor.platform == Platform(os="unknown", architecture="unknown")
    )


def _fits(given: Platform, host: Platform) -> bool:
    return (given.os, given.architecture) == (host.os, host.architecture)


def _shown(image: Descriptor) -> str:
    name = (image.annotations or {}).get(_NAME)
    return str(name or image.platform or image.digest)[:100]


def _path(descriptor: Descriptor) -> str:
    new_hash(descriptor.digest)  # refuses what is no digest
    algorithm, _, digits = descriptor.digest.partition(":")
    return f"blobs/{algorithm}/{digits}"

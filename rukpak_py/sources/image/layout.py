"""An OCI image layout: from its index by digests to the one image that is meant, and to the layers of that image.

Which image: signatures and attestations are no images. Of what is left, that which has the wanted name or digest; else
the only one; or of those for several platforms the one for this host, Linux. Anything else has no answer, and is told
with what there is. What `skopeo copy IMAGE dir:DIR` writes is one manifest, without an index.

`docker save` writes archives of another form: manifest.json names a configuration and the layers, lowest first. The
files of layers have no digests of their own; the configuration knows those of the unpacked tars.
"""

import hashlib
import platform
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from rukpak_py.content.tree import clean_path
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.sources.image.descriptors import (
    ANY,
    Blobs,
    Configuration,
    Descriptor,
    ImageManifest,
    Index,
    Platform,
    WantedPlatform,
    chart_archive_of,
    check_entries,
    document,
    is_chart,
    new_hash,
    verified,
)
from rukpak_py.sources.image.layers import unpacked

MARK = "oci-layout"
INDEX = "index.json"
FLAT_MARK = "version"
FLAT_MANIFEST = "manifest.json"  # of what `skopeo` writes to a directory, and of `docker save`

INDEX_TYPES = frozenset(
    {"application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json"}
)
_REFERENCE_TYPE = "vnd.docker.reference.type"
_NAME = "org.opencontainers.image.ref.name"
_REFERRER = re.compile(r"sha256-[0-9a-f]{64}(\.\w+)?")  # how registries name signatures and the like
MOST_INDEXES = 4  # one inside the other
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386"}


def host_platform() -> Platform:
    machine = platform.machine().lower()
    return Platform(os="linux", architecture=_ARCHITECTURES.get(machine, machine))


@dataclass(frozen=True, kw_only=True)
class LayoutImage:
    """An image, or a chart of `helm push`, whose blobs are on disk."""

    manifest: ImageManifest
    digest: str  # of what the layout names: an index, or the manifest
    blob: Callable[[Descriptor], Iterable[bytes]]

    @property
    def is_chart(self) -> bool:
        return is_chart(self.manifest)

    def archive(self, limits: Limits) -> Iterator[bytes]:
        """The archive of a chart, verified as it streams by."""
        archive = chart_archive_of(self.manifest, limits)
        return verified(self.blob(archive), archive)

    def labels(self, limits: Limits) -> Mapping[str, str]:
        """The labels of the image's configuration; none where it has no configuration."""
        config = self.manifest.config
        if config is None:
            return {}
        if config.size > limits.image_manifest_bytes:
            raise limits.exceeded("image_manifest_bytes", "the size of the image's configuration")
        return document("the image's configuration", verified(self.blob(config), config), Configuration, limits).labels

    def layers(self) -> Iterator[Iterator[bytes]]:
        """The layers of an image, lowest first, each verified as it streams by."""
        for layer in self.manifest.layers:
            yield verified(self.blob(layer), layer)


def image_of_layout(blobs: Blobs, *, limits: Limits, host: Platform, wanted: WantedPlatform = ANY) -> LayoutImage:
    index = document(INDEX, blobs(INDEX), Index, limits)
    digest, manifest = _manifest(blobs, index, limits, host, wanted)
    check_entries("the image's manifest", len(manifest.layers), limits)
    return LayoutImage(manifest=manifest, digest=digest, blob=lambda descriptor: blobs(_path(descriptor)))


def image_of_flat_directory(blobs: Blobs, *, limits: Limits) -> LayoutImage:
    """The image in a directory that skopeo calls `dir:`."""
    manifest = document(FLAT_MANIFEST, blobs(FLAT_MANIFEST), ImageManifest, limits)
    check_entries("the image's manifest", len(manifest.layers), limits)
    digest = hashlib.sha256()
    for chunk in blobs(FLAT_MANIFEST):
        digest.update(chunk)
    return LayoutImage(
        manifest=manifest,
        digest=f"sha256:{digest.hexdigest()}",
        blob=lambda descriptor: blobs(_path(descriptor).rpartition("/")[2]),
    )


def _manifest(
    blobs: Blobs, index: Index, limits: Limits, host: Platform, wanted: WantedPlatform
) -> tuple[str, ImageManifest]:
    named = ""
    for _ in range(MOST_INDEXES):
        check_entries("the image's index", len(index.manifests), limits)
        chosen = choose(index.manifests, host, wanted)
        named = named or chosen.digest
        if chosen.size > limits.image_manifest_bytes:
            raise limits.exceeded("image_manifest_bytes", f"the size of manifest {chosen.digest}")
        chunks = verified(blobs(_path(chosen)), chosen)
        if chosen.media_type not in INDEX_TYPES:
            return named, document(f"manifest {chosen.digest}", chunks, ImageManifest, limits)
        index = document(f"index {chosen.digest}", chunks, Index, limits)
        # The name was that of the index; the digest may be that of one of its images.
        wanted = WantedPlatform(digest=wanted.digest if chosen.digest != wanted.digest else "")
    raise ContentError("the image's index leads from index to index and never to an image")


def choose(descriptors: list[Descriptor], host: Platform, wanted: WantedPlatform = ANY) -> Descriptor:
    images = {descriptor.digest: descriptor for descriptor in descriptors if is_image(descriptor)}
    if not images:
        raise ContentError("the layout holds no image")
    named = [image for image in descriptors if wanted.name and _name(image) == wanted.name and image.digest in images]
    fitting = _with_digest(named or list(images.values()), wanted.digest) if not wanted.name or named else []
    fitting = list({image.digest: image for image in fitting}.values())
    if len(fitting) == 1:
        return fitting[0]
    shown = ", ".join(sorted(map(_shown, images.values()))[:10])
    if wanted and not fitting:
        raise ContentError(f"the layout holds no image {str(wanted)[:200]!r}, but {shown}")
    of_host = [image for image in fitting if image.platform is not None and _fits(image.platform, host)]
    if len(of_host) == 1:
        return of_host[0]
    found = f"{len(of_host)} of them for {host}" if of_host else f"none of them for {host}"
    raise ContentError(
        f"the layout holds {len(fitting)} images, {found} ({shown}): "
        "say which one with its name or digest, oci:DIR:NAME or oci:DIR@DIGEST"
    )


def _with_digest(images: list[Descriptor], digest: str) -> list[Descriptor]:
    """Or the indexes, one of which may lead to it."""
    if not digest:
        return images
    exact = [image for image in images if image.digest == digest]
    return exact or [image for image in images if image.media_type in INDEX_TYPES]


def is_image(descriptor: Descriptor) -> bool:
    return not (
        _REFERENCE_TYPE in (descriptor.annotations or {})
        or _REFERRER.fullmatch(_name(descriptor))
        or descriptor.platform == Platform(os="unknown", architecture="unknown")
    )


def _fits(given: Platform, host: Platform) -> bool:
    return (given.os, given.architecture) == (host.os, host.architecture)


def _name(descriptor: Descriptor) -> str:
    return (descriptor.annotations or {}).get(_NAME, "")


def _shown(image: Descriptor) -> str:
    return _name(image)[:100] or f"{image.platform or ''}@{image.digest}"


def _path(descriptor: Descriptor) -> str:
    new_hash(descriptor.digest)  # refuses what is not a digest
    algorithm, _, digits = descriptor.digest.partition(":")
    return f"blobs/{algorithm}/{digits}"


class _SavedImage(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    config: str
    layers: list[str]
    repo_tags: list[str] | None = None


def layers_of_archive(blobs: Blobs, *, limits: Limits, wanted: WantedPlatform = ANY) -> Iterator[Iterator[bytes]]:
    """The layers of the archive's image, lowest first, unpacked, each verified as it streams by."""
    image = _saved_image(document(FLAT_MANIFEST, blobs(FLAT_MANIFEST), list[_SavedImage], limits), wanted)
    check_entries(FLAT_MANIFEST, len(image.layers), limits)
    configuration = document(image.config[:200], blobs(clean_path(image.config, limits)), Configuration, limits)
    digests = configuration.rootfs.diff_ids
    if len(digests) != len(image.layers):
        raise ContentError(f"the image has {len(image.layers)} layers, and digests of {len(digests)}")
    for path, digest in zip(image.layers, digests, strict=True):
        yield unpacked(blobs(clean_path(path, limits)), digest, limits)


def labels_of_archive(blobs: Blobs, *, limits: Limits, wanted: WantedPlatform = ANY) -> Mapping[str, str]:
    """The labels of the archive's image."""
    image = _saved_image(document(FLAT_MANIFEST, blobs(FLAT_MANIFEST), list[_SavedImage], limits), wanted)
    return document(image.config[:200], blobs(clean_path(image.config, limits)), Configuration, limits).labels


def _saved_image(images: list[_SavedImage], wanted: WantedPlatform) -> _SavedImage:
    fitting = [image for image in images if not wanted or any(_is_named(tag, wanted) for tag in image.repo_tags or [])]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(sorted(tag for image in images for tag in image.repo_tags or [])[:10])
    if wanted:
        raise ContentError(f"the archive holds {len(fitting)} images {str(wanted)[:200]!r} ({names})")
    raise ContentError(
        f"the archive holds {len(images)} images ({names}): say which one with its name, docker-archive:FILE:NAME"
    )


def _is_named(tag: str, wanted: WantedPlatform) -> bool:
    """`docker save` leaves out what `podman save` writes: docker.io/library/."""
    return not wanted.digest and any(
        f"{start}{one}" == other
        for start in ("", "docker.io/", "docker.io/library/")
        for one, other in ((tag, wanted.name), (wanted.name, tag))
    )

"""Archives of `docker save`: manifest.json names a configuration and the layers, lowest first.

The files of layers have no digests of their own; the configuration knows those of the unpacked tars.
"""

from collections.abc import Iterator

import msgspec

from rukpak_py.content.tree import clean_path
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.sources.image.descriptors import (
    ANY,
    Blobs,
    WantedPlatform,
    check_entries,
    document,
)
from rukpak_py.sources.image.layers import unpacked

MANIFEST = "manifest.json"


class _Image(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    config: str
    layers: list[str]
    repo_tags: list[str] | None = None


class _RootFileSystem(msgspec.Struct, frozen=True, kw_only=True):
    diff_ids: list[str]


class _Configuration(msgspec.Struct, frozen=True, kw_only=True):
    rootfs: _RootFileSystem


def layers_of_archive(blobs: Blobs, *, limits: Limits, wanted: WantedPlatform = ANY) -> Iterator[Iterator[bytes]]:
    """The layers of the archive's image, lowest first, unpacked, each verified as it streams by."""
    image = _chosen(document(MANIFEST, blobs(MANIFEST), list[_Image], limits), wanted)
    check_entries(MANIFEST, len(image.layers), limits)
    configuration = document(image.config[:200], blobs(clean_path(image.config, limits)), _Configuration, limits)
    digests = configuration.rootfs.diff_ids
    if len(digests) != len(image.layers):
        raise ContentError(f"the image has {len(image.layers)} layers, and digests of {len(digests)}")
    for path, digest in zip(image.layers, digests, strict=True):
        yield unpacked(blobs(clean_path(path, limits)), digest, limits)


def _chosen(images: list[_Image], wanted: WantedPlatform) -> _Image:
    fitting = [image for image in images if not wanted or any(_names(tag, wanted) for tag in image.repo_tags or [])]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(sorted(tag for image in images for tag in image.repo_tags or [])[:10])
    if wanted:
        raise ContentError(f"the archive holds {len(fitting)} images {str(wanted)[:200]!r} ({names})")
    raise ContentError(
        f"the archive holds {len(images)} images ({names}): say which one with its name, docker-archive:FILE:NAME"
    )


def _names(tag: str, wanted: WantedPlatform) -> bool:
    """`docker save` leaves out what `podman save` writes: docker.io/library/."""
    return not wanted.digest and any(
        f"{start}{one}" == other
        for start in ("", "docker.io/", "docker.io/library/")
        for one, other in ((tag, wanted.name), (wanted.name, tag))
    )

"""An image whose labels say which of its files are wanted: of a registry, of an OCI image layout, or of an archive.

The labels come first: `choose` says by them which paths are kept, or raises for an image that is not what is wanted.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import AccessError, ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.sources.image import layout
from rukpak_py.sources.image.descriptors import WantedPlatform
from rukpak_py.sources.image.layers import Keep, tree_of_image
from rukpak_py.sources.image.reference import ImageReference
from rukpak_py.sources.local import Location, refuse_what_is_no_archive
from rukpak_py.sources.local_blobs import ArchiveBlobs, DirectoryBlobs

Choose: TypeAlias = Callable[[Mapping[str, str]], Keep]


@dataclass(frozen=True, kw_only=True)
class LabelledImage:
    labels: Mapping[str, str]
    tree: Tree
    reference: ImageReference | None = None  # by digest; None: it is on disk


def open_labelled_image(
    found: Location | ImageReference, choose: Choose, *, limits: Limits = DEFAULT_LIMITS
) -> LabelledImage:
    """The kept files of the image; a ContentError, without what was typed, for what is no image."""
    try:
        if isinstance(found, ImageReference):
            from rukpak_py.sources.image.opening import pull_labelled_image  # noqa: PLC0415 - only who pulls pays

            labels, tree, reference = pull_labelled_image(found, choose, limits=limits)
            return LabelledImage(labels=labels, tree=tree, reference=reference)
        return _on_disk(found.path, found.wanted, choose, limits)
    except PermissionError as error:
        raise AccessError(f"{error.filename}: permission denied") from error
    except OSError as error:
        raise UnavailableError(f"{error.filename or ''} cannot be read: {error.strerror}".strip()) from error


def _on_disk(path: Path, wanted: WantedPlatform, choose: Choose, limits: Limits) -> LabelledImage:
    if path.is_dir():
        if (path / layout.MARK).is_file() and (path / layout.INDEX).is_file():
            image = layout.image_of_layout(
                DirectoryBlobs(path), limits=limits, host=layout.host_platform(), wanted=wanted
            )
        else:
            image = layout.image_of_flat_directory(DirectoryBlobs(path), limits=limits)
        return _chosen(image.labels(limits), image.layers, choose, limits)
    refuse_what_is_no_archive(path)
    archive = ArchiveBlobs(path, limits)
    names = archive.names(frozenset({layout.MARK, layout.INDEX, layout.FLAT_MANIFEST, "blobs"}), until=frozenset())
    if {layout.MARK, layout.INDEX} <= names:
        image = layout.image_of_layout(archive, limits=limits, host=layout.host_platform(), wanted=wanted)
        return _chosen(image.labels(limits), image.layers, choose, limits)
    if layout.FLAT_MANIFEST in names:
        labels = layout.labels_of_archive(archive, limits=limits, wanted=wanted)
        layers = lambda: layout.layers_of_archive(archive, limits=limits, wanted=wanted)  # noqa: E731 - called again
        return _chosen(labels, layers, choose, limits)
    raise ContentError("is an archive without an image: give a directory, a file of blobs, or an image")


def _chosen(
    labels: Mapping[str, str], layers: Callable[[], Iterable[Iterable[bytes]]], choose: Choose, limits: Limits
) -> LabelledImage:
    return LabelledImage(labels=labels, tree=tree_of_image(layers, keep=choose(labels), limits=limits))

"""Content on this machine: a directory, a tar (gzipped or not), an OCI image layout, or what `docker save` wrote.

What is not there and names an image is pulled from its registry.

What a path is, is recognised by content, never by its name. Nothing is extracted to disk. Of a directory and of an
image only that is read which formats read: the digest of the Tree is of these files, and is the same for both. Of any
other archive everything is read.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from rukpak_py.content.tar import read_archive
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.sources.bundle_files import read_bundle_or_chart
from rukpak_py.sources.image import docker_archive, layout
from rukpak_py.sources.image.descriptors import Blobs, WantedPlatform
from rukpak_py.sources.image.layers import tree_of_image
from rukpak_py.sources.image.reference import ImageReference
from rukpak_py.sources.local_blobs import ArchiveBlobs, DirectoryBlobs, pieces
from rukpak_py.sources.local_directory import read_bundle
from rukpak_py.sources.local_files import refuse_what_is_no_archive
from rukpak_py.sources.local_location import MISSING, Location, locate

# Names at the root of an archive that tell what it is; the first of them decides.
_BUNDLE_NAMES = frozenset({"manifests", "metadata"})
_IMAGE_NAMES = frozenset({layout.MARK, layout.INDEX, docker_archive.MANIFEST, "blobs"})


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalContent:
    """`is_directory`: it is one, or an image of one; no archive of files."""

    tree: Tree
    is_directory: bool


def open_tree(path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> Tree:
    return open_content(path, limits=limits).tree


def open_content(path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> LocalContent:
    """The files at what was typed; ContentError for what cannot be content, with what to do about it.

    It may be a path, or one with a name of skopeo's before it (`oci:DIR`) and the name of an image behind it.
    """
    typed = os.fspath(path)
    try:
        found = locate(typed)
        return _pulled(found, typed, limits) if isinstance(found, ImageReference) else _opened(found, limits)
    except RukPakError as error:
        raise type(error)(f"{typed}: {error}") from error
    except PermissionError as error:
        raise AccessError(f"{error.filename or typed}: permission denied") from error
    except OSError as error:
        raise UnavailableError(f"{error.filename or typed}: cannot be read: {error.strerror}") from error


def _pulled(reference: ImageReference, typed: str, limits: Limits) -> LocalContent:
    from rukpak_py.sources.image.opening import open_image  # noqa: PLC0415 - only who pulls pays for the client

    try:
        image = open_image(reference, limits=limits)
        return LocalContent(tree=_not_empty(image.tree), is_directory=not image.artifact_type)
    except RukPakError as error:
        missing = "" if typed.startswith(("docker:", "oci:")) else f"{MISSING}, and as an image it "
        raise type(error)(f"{missing}cannot be pulled: {error}") from error


def _opened(location: Location, limits: Limits) -> LocalContent:
    path, wanted = location.path, location.wanted
    if path.is_dir():
        if (path / layout.MARK).is_file() and (path / layout.INDEX).is_file():
            return _of_layout(DirectoryBlobs(path), wanted, limits)
        _refuse_choice(wanted)
        if (path / layout.FLAT_MARK).is_file() and (path / layout.FLAT_MANIFEST).is_file():
            blobs = DirectoryBlobs(path)
            return _of_stored_image(layout.image_of_flat_directory(blobs, limits=limits), limits)
        return LocalContent(tree=_of_directory(path, limits), is_directory=True)
    if not path.is_file():
        raise ContentError("is neither a directory nor a regular file")
    return _of_file(path, wanted, limits)


def _of_directory(path: Path, limits: Limits) -> Tree:
    tree = read_bundle(path, limits=limits)
    if not tree and not tree.directories and not any(path.iterdir()):
        raise ContentError("the directory is empty")
    return tree


def _of_file(path: Path, wanted: WantedPlatform, limits: Limits) -> LocalContent:
    refuse_what_is_no_archive(path)
    archive = ArchiveBlobs(path, limits)
    names = archive.names(_IMAGE_NAMES, until=_BUNDLE_NAMES)
    if {layout.MARK, layout.INDEX} <= names:
        return _of_layout(archive, wanted, limits)
    if docker_archive.MANIFEST in names:
        return _of_image(lambda: docker_archive.layers_of_archive(archive, limits=limits, wanted=wanted), limits)
    _refuse_choice(wanted)
    tree = read_archive(pieces(path), limits=limits)
    if not tree and not tree.directories:
        raise ContentError("the archive is empty")
    return LocalContent(tree=tree, is_directory=False)


def _refuse_choice(wanted: WantedPlatform) -> None:
    if wanted:
        raise ContentError(f"holds no images to choose {str(wanted)[:200]!r} from: give the path alone")


def _of_layout(blobs: Blobs, wanted: WantedPlatform, limits: Limits) -> LocalContent:
    host = layout.host_platform()
    return _of_stored_image(layout.image_of_layout(blobs, limits=limits, host=host, wanted=wanted), limits)


def _of_stored_image(image: layout.LayoutImage, limits: Limits) -> LocalContent:
    if image.is_chart:
        return LocalContent(tree=read_archive(image.archive(limits), limits=limits), is_directory=False)
    return _of_image(image.layers, limits)


def _of_image(layers: Callable[[], Iterable[Iterable[bytes]]], limits: Limits) -> LocalContent:
    tree = _not_empty(read_bundle_or_chart(lambda keep: tree_of_image(layers, keep=keep, limits=limits)))
    return LocalContent(tree=tree, is_directory=True)


def _not_empty(tree: Tree) -> Tree:
    if not tree and not tree.directories:
        raise ContentError("the image holds no bundle: there is neither manifests/ nor metadata/ in it")
    return tree

"""Content on this machine: a directory, a tar (gzipped or not), an OCI image layout, or what `docker save` wrote.

What a path is, is recognised by content, never by its name. Nothing is extracted to disk. Of a directory everything
below it is read but `.git`, of an image everything but the directories of an operating system, which are its base; of
all inputs only what `keep` says, where it is given.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from rukpak_py.content.inflate import inflate
from rukpak_py.content.tar import read_archive
from rukpak_py.content.tar_members import Kind, TarMembers
from rukpak_py.content.tree import Tree, TreeBuilder
from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.sources.image import docker_archive, layout
from rukpak_py.sources.image.descriptors import streaming
from rukpak_py.sources.image.layers import Keep, apply_layers, beside_the_system, everything
from rukpak_py.sources.image.links import target_of
from rukpak_py.sources.local_directory import read_directory

_PIECE = 1024 * 1024
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_MOST_HOPS = 8
# Names at the root of an archive that tell what it is; the first of them decides.
_BUNDLE_NAMES = frozenset({"manifests", "metadata"})
_IMAGE_NAMES = frozenset({layout.MARK, layout.INDEX, docker_archive.MANIFEST, "blobs"})
_REFERENCE = re.compile(
    r"(docker://|oci://)?(?P<registry>[a-z0-9-]+(\.[a-z0-9-]+)*(:\d+)?/)?[a-z0-9._/-]+"
    r"(?P<tag>:[\w.-]{1,128})?(?P<digest>@sha256:[0-9a-f]{64})?"
)


def open_tree(path: Path, *, keep: Keep = everything, limits: Limits = DEFAULT_LIMITS) -> Tree:
    """The files at the path; ContentError for what cannot be content, with what to do about it."""
    try:
        return _opened(path, keep, limits)
    except RukPakError as error:
        raise type(error)(f"{path}: {error}") from error
    except PermissionError as error:
        raise AccessError(f"{error.filename or path}: permission denied") from error
    except OSError as error:
        raise UnavailableError(f"{error.filename or path}: cannot be read: {error.strerror}") from error


def _opened(path: Path, keep: Keep, limits: Limits) -> Tree:
    if not path.exists():
        raise ContentError(_why_missing(path))
    if path.is_dir():
        if (path / layout.MARK).is_file() and (path / layout.INDEX).is_file():
            return _of_layout(_DirectoryBlobs(path), keep, limits)
        tree = read_directory(path, keep=keep, limits=limits)
        if not tree and not tree.directories:
            raise ContentError("the directory is empty")
        return tree
    if not path.is_file():
        raise ContentError("is neither a directory nor a regular file")
    return _of_file(path, keep, limits)


def _why_missing(path: Path) -> str:
    text = str(path)
    match = _REFERENCE.fullmatch(text.replace("docker:/", "docker://").replace("oci:/", "oci://"))
    registry = match["registry"] or "" if match else ""
    if match is not None and (match["tag"] or match["digest"] or ("." in registry and not registry.startswith("."))):
        image = text.removeprefix("docker:/").removeprefix("oci:/").lstrip("/")
        return (
            "there is no such file or directory. Images from a registry are not supported yet: "
            f"save it with `skopeo copy docker://{image} oci:DIR` and give DIR"
        )
    return "there is no such file or directory"


def _of_file(path: Path, keep: Keep, limits: Limits) -> Tree:
    if not (head := next(_chunks(path), b"")):
        raise ContentError("the file is empty")
    if head.startswith(_ZSTD_MAGIC):
        raise ContentError("is compressed with zstd, which is not supported: unpack it first with `zstd -d`")
    archive = _ArchiveBlobs(path, limits)
    names = archive.names()
    if {layout.MARK, layout.INDEX} <= names:
        return _of_layout(archive, keep, limits)
    if docker_archive.MANIFEST in names:
        return _of_image(docker_archive.layers_of_archive(archive, limits=limits), keep, limits)
    tree = read_archive(_chunks(path), limits=limits)
    if not tree and not tree.directories:
        raise ContentError("the archive is empty")
    return tree if keep is everything else _kept(tree, keep, limits)


def _of_layout(blobs: "_DirectoryBlobs | _ArchiveBlobs", keep: Keep, limits: Limits) -> Tree:
    return _of_image(layout.layers_of_layout(blobs, limits=limits, host=layout.host_platform()), keep, limits)


def _of_image(layers: Iterable[Iterable[bytes]], keep: Keep, limits: Limits) -> Tree:
    tree = apply_layers(layers, keep=beside_the_system if keep is everything else keep, limits=limits)
    if not tree and not tree.directories:
        raise ContentError("the image holds no content")
    return tree


def _kept(tree: Tree, keep: Keep, limits: Limits) -> Tree:
    builder = TreeBuilder(limits)
    for path in filter(keep, tree):
        builder.add(path, tree[path])
    for path in filter(keep, tree.directories):
        builder.add_directory(path)
    return builder.build()


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_PIECE):
            yield chunk


class _DirectoryBlobs:
    """Files of a layout on disk. Names were made from digests, but what has such a name may be a link."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve(strict=True)

    def __call__(self, path: str) -> Iterator[bytes]:
        real = (self._root / path).resolve()
        if not real.is_relative_to(self._root):
            raise ContentError(f"{path} is a link that points out of the image layout")
        if not real.is_file():
            raise ContentError(f"{path} is missing in the image layout")
        return _chunks(real)


class _ArchiveBlobs:
    """Files of an archive, which is read from its start for each of them: it may be compressed."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self._path = path
        self._limits = streaming(limits)
        self._most_members = limits.content_files

    def names(self) -> set[str]:
        """The names at its root that tell what it is: as far as they are needed, and no further than content may be."""
        found: set[str] = set()
        try:
            for member in islice(self._members(), self._most_members):
                root, _, below = _plain(member.path).partition("/")
                if root in _BUNDLE_NAMES:
                    break
                if root in _IMAGE_NAMES and not below:
                    found.add(root)
        except ContentError as error:
            if not found and "checksum" in str(error):
                raise ContentError("is neither a tar archive, gzipped or not, nor an image layout") from error
            raise
        return found

    def __call__(self, path: str) -> Iterable[bytes]:
        return self._read(path)

    def _read(self, path: str) -> Iterator[bytes]:
        for _ in range(_MOST_HOPS):
            members = self._members()
            for member in members:
                if _plain(member.path) != path:
                    continue
                if member.kind is Kind.FILE:
                    yield from members.parts()
                    return
                if member.kind is Kind.SYMBOLIC_LINK:  # old versions of docker write equal layers once
                    path = target_of(path, member.link)
                    break
            else:
                break
        raise ContentError(f"{path} is missing in the archive")

    def _members(self) -> TarMembers:
        return TarMembers(inflate(_chunks(self._path), self._limits))


def _plain(path: str) -> str:
    return "/".join(part for part in path.split("/") if part not in {"", "."})

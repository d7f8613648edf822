"""Content on this machine: a directory, a tar (gzipped or not), an OCI image layout, or what `docker save` wrote.

What a path is, is recognised by content, never by its name. Nothing is extracted to disk. Of a directory and of an
image only that is read which formats read: the digest of the Tree is of these files, and is the same for both. Of any
other archive everything is read.

A path that is there as it was typed is that path. Else `oci:DIR`, `oci-archive:FILE`, `docker-archive:FILE` and
`dir:DIR`, the names that skopeo gives to such paths, may stand before it; what it is, its content says. Behind these a
`:NAME` or an `@sha256:…` says which image of several is meant. `docker://IMAGE` is an image of a registry, and so is
what names no path, but a registry, a tag or a digest.
"""

import codecs
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rukpak_py.content.tar import read_archive
from rukpak_py.content.tree import Tree, TreeBuilder
from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.sources.bundle_files import read_bundle_or_chart
from rukpak_py.sources.image import layout
from rukpak_py.sources.image.descriptors import ANY, Blobs, ImageDetails, WantedPlatform
from rukpak_py.sources.image.layers import tree_of_image
from rukpak_py.sources.image.reference import ImageReference, parse_image
from rukpak_py.sources.local_blobs import ArchiveBlobs, DirectoryBlobs, pieces
from rukpak_py.sources.local_directory import read_bundle

_TRANSPORTS = frozenset({"oci", "oci-archive", "docker-archive", "dir"})
_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL | re.IGNORECASE)
_OF_REGISTRIES = frozenset({"docker", "oci"})
_ELSEWHERE = re.compile(r"(docker-daemon|containers-storage):[\w./:@-]+", re.ASCII)
_DIGEST = re.compile(r"(?P<before>.+)@(?P<digest>sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})", re.DOTALL)
_SUFFIX_OF_FILE = re.compile(r"\.(tar|tgz|gz|bz2|xz|zst|zip|ya?ml|json|txt|md)$")
MISSING = "there is no such file or directory"


@dataclass(frozen=True, kw_only=True)
class Location:
    path: Path
    wanted: WantedPlatform = ANY


def locate(typed: str) -> Location | ImageReference:
    """ContentError, without what was typed, when there is nothing."""
    if _is_there(typed):
        return Location(path=Path(typed))
    transport, _, rest = typed.partition(":")
    if transport not in _TRANSPORTS or rest.startswith("//"):
        if (image := _in_registry(typed)) is not None:
            return image
        raise ContentError(_why_missing(typed))
    if (location := _behind_transport(rest)) is None:
        raise ContentError(MISSING)
    return location


def _behind_transport(rest: str) -> Location | None:
    """The path is as short as it can be, as for skopeo; without a name it may hold colons."""
    if _is_there(rest):
        return Location(path=Path(rest))
    match = _DIGEST.fullmatch(rest)
    path, digest = (match["before"], match["digest"]) if match else (rest, "")
    if digest and _is_there(path):
        return Location(path=Path(path), wanted=WantedPlatform(digest=digest))
    for colon in re.finditer(":", path):
        before, name = path[: colon.start()], path[colon.end() :]
        if _is_there(before):
            return Location(path=Path(before), wanted=WantedPlatform(name=name, digest=digest))
    return None


def _is_there(path: str) -> bool:
    if "\0" in path:
        return False
    try:
        os.stat(path)  # noqa: PTH116 - a Path would be another one than what was typed; and `exists` hides refusals
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _in_registry(typed: str) -> ImageReference | None:
    url = _URL.fullmatch(typed)
    if url and url["scheme"].lower() in _OF_REGISTRIES:
        return parse_image(url["rest"])
    if url or _ELSEWHERE.fullmatch(typed) or os.path.islink(typed):  # noqa: PTH114 - see _is_there
        return None
    return parse_image(typed) if _may_be_image(typed) and _is_explicit(typed) else None


def _why_missing(typed: str) -> str:
    if url := _URL.fullmatch(typed):
        image = url["rest"] if _may_be_image(url["rest"]) else "IMAGE"
        return f"a URL is not read: download what is there, and give the file. {_for_image(image)}"
    if _ELSEWHERE.fullmatch(typed):
        return f"is not on disk: save it with `skopeo copy {typed} oci:DIR` and give DIR"
    if os.path.islink(typed):  # noqa: PTH114 - see _is_there
        return f"is a link to {os.readlink(typed)!r}, which is not there"  # noqa: PTH115 - see _is_there
    return f"{MISSING}. {_for_image(typed)}" if _looks_like_image(typed) else MISSING


def _for_image(image: str) -> str:
    return f"For an image of a registry give docker://{image}"


def _is_explicit(typed: str) -> bool:
    """Whether the text names a registry, a tag or a digest."""
    first, slash, _ = typed.partition("/")
    if "@" in typed or ":" in typed.rpartition("/")[2]:
        return True
    return bool(slash) and ("." in first or ":" in first or first == "localhost") and _looks_like_image(typed)


def _looks_like_image(typed: str) -> bool:
    """Whether it may be an image, and is not like a path of which the last part is missing."""
    directory, slash, _ = typed.partition("/")
    return _may_be_image(typed) and bool(slash) and not _SUFFIX_OF_FILE.search(typed) and not _is_there(directory)


def _may_be_image(text: str) -> bool:
    try:
        parse_image(text)
    except ContentError:
        return False
    return True


_HEAD = 4096
# The first bytes, what they mean, and what to do.
_KINDS = (
    (b"PK\x03\x04", "is a zip archive", "unpack it with `unzip`, and give the directory"),
    (b"PK\x05\x06", "is an empty zip archive", "give the directory of a bundle"),
    (b"7z\xbc\xaf\x27\x1c", "is a 7z archive", "unpack it with `7z x`, and give the directory"),
    (b"\xfd7zXZ\0", "is compressed with xz", "unpack it first with `xz -d`"),
    (b"BZh", "is compressed with bzip2", "unpack it first with `bzip2 -d`"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd", "unpack it first with `zstd -d`"),
    (b"\x04\x22\x4d\x18", "is compressed with lz4", "unpack it first with `lz4 -d`"),
)
_DOCUMENT = re.compile(r"""(---|\{|\[|- |["']?[\w./-]+["']?\s*:(\s|$))""", re.ASCII)


def refuse_what_is_no_archive(path: Path) -> None:
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head:
        raise ContentError("the file is empty")
    for start, what, advice in _KINDS:
        if head.startswith(start):
            raise ContentError(f"{what}, which is not supported: {advice}")
    if (text := _text(head)) is not None:
        what = "a YAML file" if _is_document(text) else "a text file"
        raise ContentError(f"is {what}; give the directory of the bundle, the one that holds manifests/{_there(path)}")


def is_text_file(path: Path) -> bool:
    """Whether a file begins as a text, which no archive does."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    return bool(head) and _text(head) is not None


def _text(head: bytes) -> str | None:
    """The header of a tar holds NULs. The last character may be cut in two."""
    if b"\0" in head:
        return None
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return None


def _is_document(text: str) -> bool:
    lines = (
        line for line in text.removeprefix("\ufeff").splitlines() if line.strip() and not line.startswith(("#", "%"))
    )
    return _DOCUMENT.match(next(lines, "").lstrip()) is not None


def _there(path: Path) -> str:
    return f", here {str(path.parent.parent)!r}" if path.parent.name == "manifests" else ""


# Names at the root of an archive that tell what it is; the first of them decides.
_BUNDLE_NAMES = frozenset({"manifests", "metadata"})
_IMAGE_NAMES = frozenset({layout.MARK, layout.INDEX, layout.FLAT_MANIFEST, "blobs"})


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalContent:
    """`is_directory`: it is one, or an image of one; no archive of files."""

    tree: Tree
    is_directory: bool
    image: ImageDetails | None = None


def open_tree(path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> Tree:
    """The files of `open_content`, which may be an image of a registry."""
    return open_content(path, limits=limits, registries=True).tree


def content_of_files(files: Mapping[str, bytes], *, limits: Limits = DEFAULT_LIMITS) -> LocalContent:
    """Files in memory, by their paths in a directory; all of them are read."""
    builder = TreeBuilder(limits)
    for path, content in files.items():
        if not isinstance(path, str) or not isinstance(content, bytes):
            raise TypeError(f"files must map paths (str) to content (bytes), got {path!r}: {type(content).__name__}")
        builder.add(path, content)
    tree = builder.build()
    if not tree:
        raise ContentError("there are no files")
    return LocalContent(tree=tree, is_directory=True)


def open_content(
    path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS, registries: bool = False
) -> LocalContent:
    """The files at what was typed; ContentError for what cannot be content, with what to do about it.

    It may be a path, or one with a name of skopeo's before it (`oci:DIR`) and the name of an image behind it.
    With `registries` an image of a registry is pulled; without, nothing is asked for over the network.
    """
    typed = os.fspath(path)
    try:
        found = locate(typed)
        if not isinstance(found, ImageReference):
            return _opened(found, limits)
        if not registries:
            raise ContentError(f"{_missing(typed)}an image of a registry is pulled with registries=True only")
        return _pulled(found, typed, limits)
    except RukPakError as error:
        raise type(error)(f"{typed}: {error}") from error
    except PermissionError as error:
        raise AccessError(f"{error.filename or typed}: permission denied") from error
    except OSError as error:
        raise UnavailableError(f"{error.filename or typed}: cannot be read: {error.strerror}") from error


def _pulled(reference: ImageReference, typed: str, limits: Limits) -> LocalContent:
    from rukpak_py.sources.image.opening import open_image  # noqa: PLC0415 - only who pulls pays for the client

    try:
        image, details = open_image(reference, limits=limits)
        return LocalContent(tree=_not_empty(image.tree), is_directory=not image.artifact_type, image=details)
    except RukPakError as error:
        missing = f"{as_path}as an image it " if (as_path := _missing(typed)) else ""
        raise type(error)(f"{missing}cannot be pulled: {error}") from error


def _missing(typed: str) -> str:
    """The start of a message about text that may have been meant as a path."""
    return "" if typed.startswith(("docker:", "oci:")) else f"{MISSING}, and "


def _opened(location: Location, limits: Limits) -> LocalContent:
    path, wanted = location.path, location.wanted
    if path.is_dir():
        if (path / layout.MARK).is_file() and (path / layout.INDEX).is_file():
            return _of_layout(DirectoryBlobs(path), wanted, limits)
        _refuse_choice(wanted)
        if (path / layout.FLAT_MARK).is_file() and (path / layout.FLAT_MANIFEST).is_file():
            blobs = DirectoryBlobs(path)
            return _of_stored_image(layout.image_of_flat_directory(blobs, limits=limits), limits)
        tree = read_bundle(path, limits=limits)
        if not tree and not tree.directories and not any(path.iterdir()):
            raise ContentError("the directory is empty")
        return LocalContent(tree=tree, is_directory=True)
    if not path.is_file():
        raise ContentError("is neither a directory nor a regular file")
    return _of_file(path, wanted, limits)


def _of_file(path: Path, wanted: WantedPlatform, limits: Limits) -> LocalContent:
    refuse_what_is_no_archive(path)
    archive = ArchiveBlobs(path, limits)
    names = archive.names(_IMAGE_NAMES, until=_BUNDLE_NAMES)
    if {layout.MARK, layout.INDEX} <= names:
        return _of_layout(archive, wanted, limits)
    if layout.FLAT_MANIFEST in names:
        labels = partial(layout.labels_of_archive, archive, limits=limits, wanted=wanted)
        layers = partial(layout.layers_of_archive, archive, limits=limits, wanted=wanted)
        return _of_image(layers, ImageDetails(digest="", labels=labels), limits)
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
    details = ImageDetails(digest=image.digest, labels=partial(image.labels, limits))
    if image.is_chart:
        return LocalContent(tree=read_archive(image.archive(limits), limits=limits), is_directory=False, image=details)
    return _of_image(image.layers, details, limits)


def _of_image(layers: Callable[[], Iterable[Iterable[bytes]]], details: ImageDetails, limits: Limits) -> LocalContent:
    tree = _not_empty(read_bundle_or_chart(lambda keep: tree_of_image(layers, keep=keep, limits=limits)))
    return LocalContent(tree=tree, is_directory=True, image=details)


def _not_empty(tree: Tree) -> Tree:
    if not tree and not tree.directories:
        raise ContentError("the image holds no bundle: there is neither manifests/ nor metadata/ in it")
    return tree

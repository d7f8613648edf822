"""The catalog that a command is given: a directory, a file of blobs, or an image of one; or a bundle, to render.

A path that is there is that path, anything else an image of a registry. What an image is, its labels say.
"""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rukpak_py.cli.catalogs.directory import read_directory, read_regular_file
from rukpak_py.core.errors import ContentError, RukPakError
from rukpak_py.core.findings import Finding
from rukpak_py.core.limits import Limits

if TYPE_CHECKING:
    from rukpak_py.content.tree import Tree
    from rukpak_py.sources.image.layers import Keep
    from rukpak_py.sources.image.reference import ImageReference

CATALOG_LABEL: Final = "operators.operatorframework.io.index.configs.v1"
DATABASE_LABEL: Final = "operators.operatorframework.io.index.database.v1"
BUNDLE_LABEL: Final = "operators.operatorframework.io.bundle.package.v1"
_MANIFESTS: Final = "manifests"
_METADATA: Final = "metadata"
_IMAGE_MARKS: Final = (("oci-layout", "index.json"), ("version", "manifest.json"))
_SUFFIXES: Final = (".yaml", ".yml", ".json")


@dataclass(frozen=True, kw_only=True)
class OpenedCatalog:
    """The files of a catalog, before they are read; `root` is where they are on disk, if they are."""

    typed: str
    files: Mapping[str, bytes]
    sizes: Mapping[str, int]
    root: Path | None = None
    findings: tuple[Finding, ...] = ()  # of files that cannot be read
    image: "ImageReference | None" = None  # by digest

    @cached_property
    def bundle_directories(self) -> list[str]:
        """Directories in it that are bundles: a mistake, because a catalog holds blobs."""
        found = {path.rpartition("/manifests/")[0] for path in self.files if "/manifests/" in f"/{path}"}
        return sorted(found)


@dataclass(frozen=True, kw_only=True)
class OpenedBundle:
    typed: str
    tree: "Tree"
    image: str = ""  # as it was given, without a scheme; empty: it is on disk


def open_catalog(typed: str, limits: Limits) -> OpenedCatalog:
    """A catalog; a bundle is refused with what to do."""
    match open_reference(typed, limits):
        case OpenedCatalog() as catalog:
            return catalog
        case OpenedBundle():
            raise ContentError(
                f"{typed}: is a bundle, not a catalog: `rukpakctl bundle validate` checks it, "
                "`rukpakctl catalog render` makes a blob of it"
            )


def open_reference(typed: str, limits: Limits) -> OpenedCatalog | OpenedBundle:
    """A catalog or a bundle."""
    if not typed:
        raise ContentError("the path of a catalog is empty")
    try:
        path = Path(typed)
        if path.is_dir() and not _is_image(path):
            return _of_directory(typed, path, limits)
        if path.is_file() and path.name.endswith(_SUFFIXES):
            return _of_file(typed, path, limits)
        if path.is_file():
            _refuse_text(path)
        elif path.exists() and not path.is_dir():
            raise ContentError("is a device, a FIFO or a socket")
        return _of_image(typed, limits)
    except RukPakError as error:
        raise type(error)(f"{typed}: {error}") from error


def _of_directory(typed: str, path: Path, limits: Limits) -> OpenedCatalog | OpenedBundle:
    if (path / _MANIFESTS).is_dir() and (path / _METADATA).is_dir():
        from rukpak_py.sources.local_directory import read_bundle  # noqa: PLC0415 - catalogs do not need it

        return OpenedBundle(typed=typed, tree=read_bundle(path, limits=limits))
    files = read_directory(path, limits=limits)
    return OpenedCatalog(typed=typed, files=files, sizes=files.sizes, root=path, findings=files.findings)


def _of_file(typed: str, path: Path, limits: Limits) -> OpenedCatalog:
    data = read_regular_file(path.resolve(), path.name, limits)
    return OpenedCatalog(typed=typed, files={path.name: data}, sizes={path.name: len(data)}, root=path.parent)


def _refuse_text(path: Path) -> None:
    from rukpak_py.sources.local import is_text_file  # noqa: PLC0415 - directories do not need it

    try:
        is_text = is_text_file(path)
    except OSError:
        return  # reading it as an archive tells why
    if is_text:
        raise ContentError("is not a catalog: give a directory, a .yaml or .json file, or an image")


def _is_image(directory: Path) -> bool:
    """Whether a directory is an OCI image layout, or an image as `skopeo` writes it to a directory."""
    return any((directory / mark).is_file() and (directory / index).is_file() for mark, index in _IMAGE_MARKS)


def _of_image(typed: str, limits: Limits) -> OpenedCatalog | OpenedBundle:
    from rukpak_py.sources.image.layers import below, everything  # noqa: PLC0415 - directories do not need it
    from rukpak_py.sources.labelled_images import open_labelled_image  # noqa: PLC0415 - the same
    from rukpak_py.sources.local import locate  # noqa: PLC0415 - the same

    chosen: dict[str, str] = {}

    def choose(labels: Mapping[str, str]) -> "Keep":
        if CATALOG_LABEL in labels:
            chosen["root"] = posixpath.normpath(f"/{labels[CATALOG_LABEL]}").strip("/")
            return below(chosen["root"]) if chosen["root"] else everything
        if BUNDLE_LABEL in labels:
            return below(_MANIFESTS, _METADATA)
        if DATABASE_LABEL in labels:
            raise ContentError("is a catalog in a database, which is not supported: migrate it to a file-based catalog")
        known = ", ".join(sorted(labels)[:5]) or "none"
        raise ContentError(
            f"is neither the image of a catalog (label {CATALOG_LABEL}) nor of a bundle (label {BUNDLE_LABEL}); "
            f"labels: {known}"
        )

    large = replace(limits, content_bytes=limits.catalog_bytes, file_bytes=limits.catalog_bytes)
    image = open_labelled_image(locate(typed), choose, limits=large)
    if "root" not in chosen:
        if image.tree.total_bytes > limits.content_bytes:
            raise limits.exceeded("content_bytes", "the size of the content of the image")
        name = "" if image.reference is None else typed.partition("://")[2] or typed
        return OpenedBundle(typed=typed, tree=image.tree, image=name)
    prefix = f"{chosen['root']}/" if chosen["root"] else ""
    if chosen["root"] and chosen["root"] not in image.tree.directories:
        named = image.labels[CATALOG_LABEL][:200]
        raise ContentError(f"its label {CATALOG_LABEL} names {named!r}, which is not a directory of the image")
    files = {path.removeprefix(prefix): image.tree[path] for path in image.tree}
    sizes = {path: len(data) for path, data in files.items()}
    return OpenedCatalog(typed=typed, files=files, sizes=sizes, image=image.reference)

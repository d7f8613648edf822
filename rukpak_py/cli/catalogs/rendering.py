"""Catalogs and bundles as blobs that are written: each file encoded where it is read, sorted and printed here.

The text of a catalog goes to disk until its blobs can be sorted, so that it needs no memory, however large it is.
"""

import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from rukpak_py.catalog.checks.blob_checks import Checks
from rukpak_py.catalog.model import Bundle, Catalog
from rukpak_py.catalog.read_file import read_file
from rukpak_py.catalog.rendering import is_left_for_its_image, rendered, rendered_bundle
from rukpak_py.catalog.writing import Encoded, Key, blobs_of, encoded, lost_blobs, written
from rukpak_py.cli.catalogs.cache import Cache, cache_key
from rukpak_py.cli.catalogs.loading import LoadOptions, at_root, content_files
from rukpak_py.cli.catalogs.opening import OpenedBundle, OpenedCatalog, open_reference
from rukpak_py.cli.catalogs.reading import mapped
from rukpak_py.cli.catalogs.spool import Spool, Stored
from rukpak_py.cli.terminal import clean_text
from rukpak_py.core.errors import ContentError, RukPakError
from rukpak_py.core.findings import Finding, InvalidBundleError
from rukpak_py.core.text import named

_MOST_GIVEN: Final = 10  # bundles that are named instead of a directory


@dataclass(frozen=True, kw_only=True)
class RenderOptions:
    """`image_template`: the image of a bundle directory, with `{{.Package}}`, `{{.Name}}` and `{{.Version}}`."""

    load: LoadOptions
    as_yaml: bool = False
    migrate: bool = False
    image_template: str = ""


class _EncodedFile(msgspec.Struct, frozen=True):
    """The blobs of one file, and what is wrong with it."""

    blobs: tuple[Encoded, ...] = ()
    errors: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = ()


class StoredBlob(NamedTuple):
    key: Key
    stored: Stored


class _StoredFile(msgspec.Struct, frozen=True):
    """The same as a worker answers: the texts are in the spool."""

    blobs: tuple[StoredBlob, ...] = ()
    errors: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(kw_only=True)
class Rendering:
    """Blobs that are encoded: those of catalogs on disk, those of bundles in memory."""

    spool: Spool
    blobs: list[Encoded | StoredBlob] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)  # blobs that are not written or not migrated, and why

    def write(self) -> None:
        """Print the blobs in the order of a catalog."""
        blobs = sorted(self.blobs, key=lambda one: one.key)
        _print(one.data if isinstance(one, Encoded) else self.spool.read(one.stored) for one in blobs)


def render(references: Iterable[str], options: RenderOptions, spool: Spool) -> Rendering:
    """All blobs of catalogs and bundles; an error with all findings for what cannot be read."""
    rendering = Rendering(spool=spool)
    for typed in references:
        match open_reference(typed, options.load.limits):
            case OpenedBundle() as opened:
                catalog = Catalog(bundles=(bundle_of(opened, options),))
                rendering.blobs += _encoded(catalog, as_yaml=options.as_yaml)
                rendering.warnings += _warnings(catalog, options)
            case OpenedCatalog() as opened:
                _add_catalog(rendering, opened, options)
    return rendering


def write_catalog(catalog: Catalog, *, as_yaml: bool) -> list[str]:
    """Print a catalog; returns the blobs that are not written."""
    _print(written(catalog, as_yaml=as_yaml))
    return [problem.message for problem in lost_blobs(catalog)]


def _print(texts: Iterable[bytes]) -> None:
    """Print bytes as they are; on a terminal nothing in them can control it."""
    is_terminal = sys.stdout.isatty()
    sys.stdout.flush()
    for data in texts:
        sys.stdout.buffer.write(clean_text(data.decode()).encode() if is_terminal else data)
    sys.stdout.buffer.flush()


def bundle_of(opened: OpenedBundle, options: RenderOptions) -> Bundle:
    """The blob of a bundle; the image of a directory is made by the template."""
    from rukpak_py.catalog.making.bundle_blob import bundle_blob, with_image  # noqa: PLC0415 - catalogs do not need it

    limits = options.load.limits
    try:
        bundle = bundle_blob(opened.tree, image=opened.image, limits=limits)
        if options.image_template and not opened.image:
            from rukpak_py.catalog.making.image_template import ImageTemplate  # noqa: PLC0415 - the same

            bundle = with_image(bundle, ImageTemplate.parse(options.image_template).image_of(bundle))
        return rendered_bundle(bundle, migrate=options.migrate)
    except RukPakError as error:
        if isinstance(error, InvalidBundleError):
            raise
        raise type(error)(f"{opened.typed}: {error}") from error


def _add_catalog(rendering: Rendering, opened: OpenedCatalog, options: RenderOptions) -> None:
    files = content_files(opened)
    errors = [finding for finding in files.findings if finding.is_error]
    work = partial(_stored_file, options=options, spool=rendering.spool, cache=options.load.cache)
    already = len(rendering.blobs)
    for _, data in mapped(files, files.sizes, work, jobs=options.load.jobs):
        result = msgspec.msgpack.decode(data, type=_StoredFile)
        errors += result.errors
        rendering.blobs += result.blobs
        rendering.warnings += result.warnings
    if errors and len(rendering.blobs) == already and opened.root is not None and opened.bundle_directories:
        raise ContentError(f"{opened.typed}: holds bundles and no blob of a catalog: give {_given(opened)}")
    if errors:
        raise InvalidBundleError([at_root(opened, finding) for finding in errors], noun="catalog")


def _given(opened: OpenedCatalog) -> str:
    """The bundles in it as arguments."""
    names = opened.bundle_directories
    shown = " ".join(shlex.quote(str(Path(opened.typed, name))) for name in names[:_MOST_GIVEN])
    return shown if len(names) <= _MOST_GIVEN else f"{shown} and {len(names) - _MOST_GIVEN} more"


def _stored_file(file: str, data: bytes, options: RenderOptions, spool: Spool, cache: Cache | None) -> bytes:
    key = cache_key(["render", options.as_yaml, options.migrate, options.load.of_files], file, data) if cache else ""
    found = None
    if cache and (kept := cache.get(key)) is not None:
        with suppress(msgspec.MsgspecError):  # not what this program keeps
            found = msgspec.msgpack.decode(kept, type=_EncodedFile)
    if found is None:
        found = _encoded_file(file, data, options)
        if cache:
            cache.put(key, msgspec.msgpack.encode(found))
    blobs = tuple(StoredBlob(key=one.key, stored=spool.append(one.data)) for one in found.blobs)
    spool.flush()
    return msgspec.msgpack.encode(_StoredFile(blobs=blobs, errors=found.errors, warnings=found.warnings))


def _encoded_file(file: str, data: bytes, options: RenderOptions) -> _EncodedFile:
    content = read_file(file, data, checks=Checks.READING, limits=options.load.of_files)
    catalog = rendered(content.catalog, migrate=options.migrate)
    return _EncodedFile(
        blobs=tuple(_encoded(catalog, as_yaml=options.as_yaml)),
        errors=tuple(finding for finding in content.findings if finding.is_error),
        warnings=tuple(f"{file}: {warning}" for warning in _warnings(content.catalog, options)),
    )


def _warnings(catalog: Catalog, options: RenderOptions) -> Iterator[str]:
    yield from (problem.message for problem in lost_blobs(catalog))
    unmigrated = [bundle.name for bundle in catalog.bundles if is_left_for_its_image(bundle)]
    if options.migrate and unmigrated:
        yield (
            f"not migrated: {named(unmigrated)}: a bundle without an image keeps its objects, which nothing else has; "
            "--image-template names the images of bundle directories"
        )


def _encoded(catalog: Catalog, *, as_yaml: bool) -> Iterator[Encoded]:
    return (one for one in (encoded(blob, as_yaml=as_yaml) for blob in blobs_of(catalog)) if one is not None)

"""Catalogs and bundles as blobs that are written: each file encoded where it is read, sorted and printed here.

Nothing but the encoded blobs is held, so that a catalog needs little more memory than its text.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

import msgspec

from rukpak_py.catalog.model import Bundle, Catalog
from rukpak_py.catalog.read_file import read_file
from rukpak_py.catalog.rendering import rendered, rendered_bundle
from rukpak_py.catalog.writing import Encoded, blobs_of, encoded, in_order, lost_blobs
from rukpak_py.cli.catalogs.loading import LoadOptions, at_root, content_files
from rukpak_py.cli.catalogs.opening import OpenedBundle, OpenedCatalog, open_reference
from rukpak_py.cli.catalogs.reading import mapped
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.findings import Finding, InvalidBundleError
from rukpak_py.core.limits import Limits

_OF_READING = "FBC-L"


@dataclass(frozen=True, kw_only=True)
class RenderOptions:
    """`image_template`: the image of a bundle directory, with `{{.Package}}`, `{{.Name}}` and `{{.Version}}`."""

    load: LoadOptions
    as_yaml: bool = False
    migrate: bool = False
    image_template: str = ""


class _Result(msgspec.Struct, frozen=True):
    """The result of a worker for one file."""

    blobs: tuple[Encoded, ...] = ()
    errors: tuple[Finding, ...] = ()
    lost: tuple[str, ...] = ()


@dataclass(kw_only=True)
class Rendering:
    blobs: list[Encoded] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)  # blobs that are not written, and why

    def write(self) -> None:
        """Print the blobs in the order of a catalog."""
        sys.stdout.flush()
        for data in in_order(self.blobs):
            sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def render(references: Iterable[str], options: RenderOptions) -> Rendering:
    """All blobs of catalogs and bundles; an error with all findings for what cannot be read."""
    rendering = Rendering()
    for typed in references:
        match open_reference(typed, options.load.limits):
            case OpenedBundle() as opened:
                _add(rendering, Catalog(bundles=(bundle_of(opened, options),)), options)
            case OpenedCatalog() as opened:
                _add_catalog(rendering, opened, options)
    return rendering


def write_catalog(catalog: Catalog, *, as_yaml: bool) -> list[str]:
    """Print a catalog; returns the blobs that are not written."""
    found = (encoded(blob, as_yaml=as_yaml) for blob in blobs_of(catalog))
    rendering = Rendering(blobs=[one for one in found if one is not None])
    rendering.write()
    return [problem.message for problem in lost_blobs(catalog)]


def bundle_of(opened: OpenedBundle, options: RenderOptions) -> Bundle:
    """The blob of a bundle; the image of a directory is made by the template."""
    from rukpak_py.catalog.bundle_blob import bundle_blob, with_image  # noqa: PLC0415 - catalogs do not need it

    limits = options.load.limits
    try:
        bundle = bundle_blob(opened.tree, image=opened.image, limits=limits)
        if options.image_template and not opened.image:
            from rukpak_py.catalog.image_template import ImageTemplate  # noqa: PLC0415 - the same

            bundle = with_image(bundle, ImageTemplate.parse(options.image_template).image_of(bundle))
        return rendered_bundle(bundle, migrate=options.migrate)
    except RukPakError as error:
        if isinstance(error, InvalidBundleError):
            raise
        raise type(error)(f"{opened.typed}: {error}") from error


def _add_catalog(rendering: Rendering, opened: OpenedCatalog, options: RenderOptions) -> None:
    errors = [finding for finding in opened.findings if finding.is_error]
    files = content_files(opened)
    work = partial(_encoded_file, options=options, limits=options.load.of_files)
    for _, data in mapped(files, files.sizes, work, jobs=options.load.jobs):
        result = msgspec.msgpack.decode(data, type=_Result)
        errors += result.errors
        rendering.blobs += result.blobs
        rendering.lost += result.lost
    if errors:
        raise InvalidBundleError([at_root(opened, finding) for finding in errors], noun="catalog")


def _encoded_file(file: str, data: bytes, options: RenderOptions, limits: Limits) -> bytes:
    content = read_file(file, data, limits=limits)
    errors = tuple(one for one in content.findings if one.is_error and one.rule.startswith(_OF_READING))
    return msgspec.msgpack.encode(
        _Result(
            blobs=tuple(_encoded(rendered(content.catalog, migrate=options.migrate), as_yaml=options.as_yaml)),
            errors=errors,
            lost=tuple(f"{file}: {problem.message}" for problem in lost_blobs(content.catalog)),
        )
    )


def _add(rendering: Rendering, catalog: Catalog, options: RenderOptions) -> None:
    rendering.blobs += _encoded(catalog, as_yaml=options.as_yaml)
    rendering.lost += [problem.message for problem in lost_blobs(catalog)]


def _encoded(catalog: Catalog, *, as_yaml: bool) -> Iterator[Encoded]:
    return (one for one in (encoded(blob, as_yaml=as_yaml) for blob in blobs_of(catalog)) if one is not None)

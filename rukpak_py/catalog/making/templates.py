"""Templates of catalogs: `olm.template.basic`, blobs in which bundles stand as images that are to be rendered.

Reading a template says which images it needs; who has them, pulled in any order, gets the catalog. Other kinds of
templates are not supported: they invent the channels of a package by rules of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from rukpak_py.catalog.blobs import Blob, Told, read_blob
from rukpak_py.catalog.fields import kind_of, member
from rukpak_py.catalog.model import Bundle, Catalog, Origin
from rukpak_py.catalog.read_file import catalog_of
from rukpak_py.content import yaml
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import Severity
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.formats.rules import path_text

BASIC: Final = "olm.template.basic"
_UNSUPPORTED: Final = ("olm.semver", "olm.template.substitutes")


@dataclass(frozen=True, kw_only=True)
class BasicTemplate:
    catalog: Catalog  # all blobs but bundles
    bundles: tuple[str, ...]  # the image of each, as they stand in the template

    @property
    def images(self) -> tuple[str, ...]:
        """The images to render, each once."""
        return tuple(dict.fromkeys(self.bundles))

    def rendered(self, bundles: Mapping[str, Bundle]) -> Catalog:
        """The catalog, given the bundle of each image. An image that stands there twice gives two blobs."""
        return replace(self.catalog, bundles=tuple(bundles[image] for image in self.bundles))


def read_template(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> BasicTemplate:
    """Read a template, of which only the first document counts; ContentError where it is not a basic one."""
    document = next(yaml.documents(data, limits=limits), None)
    if not isinstance(document, dict):
        raise ContentError(f"a template must be an object, got {kind_of(document)}")
    _check_schema(member(document, "schema")[1])
    entries = member(document, "entries")[1]
    if not isinstance(entries, list | None):
        raise ContentError(f"`entries` of the template must be a list, got {kind_of(entries)}")
    blobs = [_blob(entry, index) for index, entry in enumerate(entries or ())]
    catalog = catalog_of(blobs)
    images = tuple(bundle.image for bundle in catalog.bundles)
    return BasicTemplate(catalog=replace(catalog, bundles=()), bundles=images)


def _check_schema(schema: Any) -> None:
    if schema in _UNSUPPORTED:
        raise ContentError(
            f"templates of schema {schema} are not supported, on purpose: they make channels by rules of their own. "
            f"Write the channels down in a template of schema {BASIC}, or render the template with `opm`"
        )
    if not isinstance(schema, str | None):
        raise ContentError(f"the schema of the template must be a string, got {kind_of(schema)}")
    if not schema:
        raise ContentError(f"the template has no schema: give it `schema: {BASIC}`")
    if schema != BASIC:
        raise ContentError(f"the template has the unknown schema {schema!r}: it must be {BASIC}")


def _blob(entry: Any, index: int) -> Blob:
    where = f"entries[{index}]"
    told: list[Told] = []
    blob = read_blob(entry, Origin(), told)
    for one in told:
        if one.rule.severity is Severity.ERROR:
            place = one.problem.place
            path = path_text(("entries", index, *(place.path if place is not None else ())))
            raise ContentError(f"{path} of the template: {one.problem.message}")
    if blob is None:
        raise ContentError(f"{where} of the template is not a blob")
    if isinstance(blob, Bundle):
        if not blob.image:
            raise ContentError(f"{where} of the template is a bundle without `image`")
        if blob.package or blob.properties or blob.related_images:
            raise ContentError(
                f"{where} of the template must be a bundle with `schema` and `image` alone: its package, properties "
                "and related images come from the image"
            )
    return blob

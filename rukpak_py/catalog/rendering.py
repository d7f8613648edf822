"""The blobs of one source as they are written: the pipeline of `render`, after reading.

Properties that hold objects, or the metadata of a CSV, go behind the others; related images are sorted; bundles are
migrated if wanted. Nothing is validated.
"""

from msgspec.structs import replace

from rukpak_py.catalog.making.csv_metadata import migrated
from rukpak_py.catalog.model import BUNDLE_OBJECT, CSV_METADATA, Bundle, Catalog

_LAST = frozenset({BUNDLE_OBJECT, CSV_METADATA})


def rendered(catalog: Catalog, *, migrate: bool = False) -> Catalog:
    """The catalog as it is written; ContentError for a CSV that cannot be migrated."""
    return replace(catalog, bundles=tuple(rendered_bundle(bundle, migrate=migrate) for bundle in catalog.bundles))


def rendered_bundle(bundle: Bundle, *, migrate: bool = False) -> Bundle:
    properties = tuple(sorted(bundle.properties, key=lambda one: one.type in _LAST))
    images = tuple(sorted(bundle.related_images, key=lambda one: one.image.encode()))
    bundle = replace(bundle, properties=properties, related_images=images)
    return migrated(bundle) if migrate else bundle


def is_left_for_its_image(bundle: Bundle) -> bool:
    """Whether a migration leaves the bundle as it is because it has no image."""
    return not bundle.image and bundle.has_objects and not any(one.type == CSV_METADATA for one in bundle.properties)

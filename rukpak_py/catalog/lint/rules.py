"""The rules of `lint`, by what they look at. They are apart from those of validity, which are checked more often."""

from collections.abc import Mapping
from typing import Any, Final

from rukpak_py.catalog.checks.whole_catalog import WholeCatalog
from rukpak_py.catalog.lint import blobs, bundles, catalogs
from rukpak_py.catalog.model import Bundle, Channel, CustomBlob, Package
from rukpak_py.formats.rules import Family

BLOB_FAMILIES: Final[Mapping[type, tuple[Family[Any], ...]]] = {
    Package: (blobs.PACKAGES,),
    Channel: (blobs.CHANNELS,),
    Bundle: (bundles.BUNDLES,),
    CustomBlob: (blobs.CUSTOM,),
}
LINT_FAMILIES: Final[tuple[Family[WholeCatalog], ...]] = (catalogs.CATALOGS,)
ALL_FAMILIES: Final[tuple[Family[Any], ...]] = (
    *(family for families in BLOB_FAMILIES.values() for family in families),
    *LINT_FAMILIES,
)

"""All rules of catalogs, by what they look at. Ids are stable: `FBC-`, and how the behaviour of `opm` is numbered.

L: reading, C: the blobs of a package and their names, D: deprecations, M: packages, channels and bundles as OLM models
them. What `opm` accepts, but a user or a cluster will not like, is W: always a warning.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from rukpak_py.catalog.checks import catalog_checks, deprecation_checks, graph_checks
from rukpak_py.catalog.checks.blob_checks import BUNDLE_FAMILY, CHANNEL_FAMILY, CUSTOM_FAMILY, PACKAGE_FAMILY
from rukpak_py.catalog.checks.whole_catalog import WholeCatalog
from rukpak_py.formats.rules import Family, Problem, Rule

# Of the whole catalog, in the order in which they run.
CATALOG_FAMILIES: Final[tuple[Family[WholeCatalog], ...]] = (
    catalog_checks.FAMILY,
    graph_checks.FAMILY,
    deprecation_checks.FAMILY,
)
VALIDITY_FAMILIES: Final[tuple[Family[Any], ...]] = (
    *(PACKAGE_FAMILY, CHANNEL_FAMILY, BUNDLE_FAMILY, CUSTOM_FAMILY),
    *CATALOG_FAMILIES,
)


def problems_of_catalog(
    whole: WholeCatalog, families: Iterable[Family[WholeCatalog]] = CATALOG_FAMILIES
) -> Iterator[tuple[Rule[WholeCatalog], Problem]]:
    """List the defects of the blobs together; `problems_of_blob` lists those of each alone."""
    for family in families:
        for rule in family.rules:
            for problem in rule.check(whole):
                yield rule, problem

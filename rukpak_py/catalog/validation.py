"""The files of a catalog put together, and everything that is wrong with the whole."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rukpak_py.catalog.checks.blob_checks import OF_READING
from rukpak_py.catalog.checks.rules import CATALOG_FAMILIES, problems_of_catalog
from rukpak_py.catalog.checks.whole_catalog import WholeCatalog
from rukpak_py.catalog.model import Bundle, Catalog, Channel, Deprecations
from rukpak_py.catalog.read_file import FileContent
from rukpak_py.core.findings import Finding
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.formats.rules import Family, Locator


@dataclass(frozen=True, kw_only=True)
class LoadedCatalog:
    """`broken`: packages of which a blob may be lost; None: any package."""

    catalog: Catalog
    findings: tuple[Finding, ...] = ()  # of its files, each alone
    broken: frozenset[str] | None = frozenset()

    @property
    def reading_errors(self) -> list[Finding]:
        """List what makes `opm` refuse to load the catalog, valid or not."""
        return [finding for finding in self.findings if finding.rule.startswith(OF_READING)]


def joined(contents: Iterable[FileContent], findings: Iterable[Finding] = ()) -> LoadedCatalog:
    """Join the contents of the files; `findings` are those of files that could not be opened."""
    catalogs: list[Catalog] = []
    found = list(findings)
    broken: frozenset[str] | None = None if any(finding.is_error for finding in found) else frozenset()
    for content in contents:
        catalogs.append(content.catalog)
        found += content.findings
        if content.is_broken:
            packages = _packages_of(content.catalog)
            broken = broken | packages if broken is not None and packages else None
    return LoadedCatalog(catalog=Catalog.joined(catalogs), findings=tuple(found), broken=broken)


def validate(
    loaded: LoadedCatalog,
    files: Mapping[str, bytes],
    *,
    families: Iterable[Family[WholeCatalog]] = CATALOG_FAMILIES,
    limits: Limits = DEFAULT_LIMITS,
) -> list[Finding]:
    """All findings, by file and line; `files` are read again where the position of a finding is looked up."""
    whole = WholeCatalog(catalog=loaded.catalog, broken=loaded.broken)
    locator = Locator(files, limits)
    found = [locator.finding(rule, problem) for rule, problem in problems_of_catalog(whole, families)]
    return sorted(
        dict.fromkeys([*loaded.findings, *found]),
        key=lambda finding: (finding.file, finding.line, finding.column, not finding.is_error, finding.rule),
    )


def _packages_of(catalog: Catalog) -> frozenset[str]:
    named: tuple[Channel | Bundle | Deprecations, ...] = (*catalog.channels, *catalog.bundles, *catalog.deprecations)
    return frozenset({package.name for package in catalog.packages} | {blob.package for blob in named})

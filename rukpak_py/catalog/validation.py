"""The files of a catalog put together, and everything that is wrong with the whole."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from rukpak_py.catalog.blobs import UNKNOWN_FIELD
from rukpak_py.catalog.checks.blob_checks import OF_READING
from rukpak_py.catalog.checks.rules import CATALOG_FAMILIES, problems_of_catalog
from rukpak_py.catalog.checks.whole_catalog import WholeCatalog
from rukpak_py.catalog.model import Bundle, Catalog, Channel, Deprecations, Origin
from rukpak_py.catalog.read_file import FileContent
from rukpak_py.core.findings import Finding
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.formats.rules import Family, Locator

_NAME_OF_BUNDLE: Final = "FBC-W16"  # begins with the name of the package
_MOST_FIELDS: Final = 20  # of a blob


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
    whole = WholeCatalog(catalog=loaded.catalog, broken=loaded.broken, unknown_fields=_unknown_fields(loaded.findings))
    locator = Locator(files, limits)
    found = [locator.finding(rule, problem) for rule, problem in problems_of_catalog(whole, families)]
    strays = {_document(one.origin) for one in loaded.catalog.bundles if _is_stray(one, whole)}
    of_files = (one for one in loaded.findings if one.rule != _NAME_OF_BUNDLE or (one.file, one.document) not in strays)
    return sorted(
        dict.fromkeys([*of_files, *found]),
        key=lambda finding: (finding.file, finding.line, finding.column, not finding.is_error, finding.rule),
    )


def _document(origin: Origin) -> tuple[str, int]:
    return origin.file, origin.document


def _is_stray(bundle: Bundle, whole: WholeCatalog) -> bool:
    """Whether the bundle is of no package of the catalog, which another finding tells; its name may be right."""
    return bundle.package not in whole.known and whole.is_complete(bundle.package)


def _unknown_fields(findings: Iterable[Finding]) -> dict[tuple[str, int], tuple[str, ...]]:
    found: dict[tuple[str, int], tuple[str, ...]] = {}
    for one in findings:
        if one.rule == UNKNOWN_FIELD.id:
            key = (one.file, one.document)
            found[key] = (*found.get(key, ())[:_MOST_FIELDS], one.path)
    return found


def _packages_of(catalog: Catalog) -> frozenset[str]:
    named: tuple[Channel | Bundle | Deprecations, ...] = (*catalog.channels, *catalog.bundles, *catalog.deprecations)
    return frozenset({package.name for package in catalog.packages} | {blob.package for blob in named})

"""A catalog as commands use it: opened, its ignored files left out, read, and checked as far as the command needs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from rukpak_py.catalog.checks.blob_checks import Checks
from rukpak_py.catalog.checks.rules import CATALOG_FAMILIES
from rukpak_py.catalog.checks.whole_catalog import WholeCatalog
from rukpak_py.catalog.indexignore import INDEX_IGNORE, ignored
from rukpak_py.catalog.validation import LoadedCatalog, joined, validate
from rukpak_py.cli.catalogs.cache import Cache
from rukpak_py.cli.catalogs.directory import CHECKOUT
from rukpak_py.cli.catalogs.opening import OpenedCatalog, open_catalog
from rukpak_py.cli.catalogs.reading import Reading
from rukpak_py.cli.reports.report import CommandReport
from rukpak_py.core.errors import ContentError, RukPakError
from rukpak_py.core.findings import Finding, InvalidBundleError
from rukpak_py.core.limits import Limits
from rukpak_py.core.text import counted
from rukpak_py.formats.rules import Family

_MOST_NAMED: Final = 3


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """How catalogs are read. `is_slim`: without what only a rendering needs; `checks`: of blobs alone."""

    limits: Limits
    is_slim: bool = True
    checks: Checks = Checks.VALIDITY
    is_cached: bool = True
    jobs: int | None = None

    @property
    def of_files(self) -> Limits:
        """Limits of one file: a catalog in one file may be as large as any catalog."""
        return replace(self.limits, yaml_bytes=self.limits.catalog_bytes, yaml_nodes=self.limits.catalog_nodes)

    @property
    def cache(self) -> Cache | None:
        return Cache.of_user() if self.is_cached else None

    @property
    def reading(self) -> Reading:
        limits, cache = self.of_files, self.cache
        return Reading(limits=limits, is_slim=self.is_slim, checks=self.checks, cache=cache, jobs=self.jobs)


@dataclass(frozen=True, kw_only=True)
class Loaded:
    opened: OpenedCatalog
    content: LoadedCatalog


def load(typed: str, options: LoadOptions) -> Loaded:
    """Read all files; a ContentError for what is no catalog at all."""
    opened = open_catalog(typed, options.limits)
    files = content_files(opened)
    contents = (content for _, content in options.reading.contents(files, files.sizes))
    content = joined(contents, files.findings)
    if not content.catalog.packages and opened.bundle_directories:
        shown = ", ".join(name or "." for name in opened.bundle_directories[:_MOST_NAMED])
        raise ContentError(
            f"{typed}: holds bundles ({shown}) and no package of a catalog: `rukpakctl bundle validate` checks them"
        )
    return Loaded(opened=opened, content=content)


def load_readable(typed: str, options: LoadOptions) -> Loaded:
    """The same; an error with all that cannot be read. The catalog need not be valid."""
    loaded = load(typed, options)
    return _demand_none(loaded, loaded.content.reading_errors)


def load_valid(typed: str, options: LoadOptions) -> Loaded:
    """The same; an error with all findings for a catalog that is not valid."""
    loaded = load(typed, options)
    return _demand_none(loaded, findings_of(loaded, options))


def _demand_none(loaded: Loaded, findings: Iterable[Finding]) -> Loaded:
    errors = [at_root(loaded.opened, finding) for finding in findings if finding.is_error]
    if errors:
        raise InvalidBundleError(errors, noun="catalog")
    return loaded


def findings_of(
    loaded: Loaded, options: LoadOptions, families: Iterable[Family[WholeCatalog]] = CATALOG_FAMILIES
) -> list[Finding]:
    return validate(loaded.content, loaded.opened.files, families=families, limits=options.of_files)


def report_of(
    typed: str, options: LoadOptions, families: Iterable[Family[WholeCatalog]] = CATALOG_FAMILIES
) -> CommandReport:
    """Report of a checked catalog."""
    try:
        loaded = load(typed, options)
        findings = findings_of(loaded, options, families)
    except RukPakError as error:
        return CommandReport(path=typed, noun="catalog", failure=str(error).removeprefix(f"{typed}: "))
    root = loaded.opened.root
    catalog = loaded.content.catalog
    contents = f"{counted(len(catalog.packages), 'package')}, {counted(len(catalog.bundles), 'bundle')}"
    return CommandReport(
        path=typed, noun="catalog", root=str(root) if root else "", contents=contents, findings=findings
    )


def content_files(opened: OpenedCatalog) -> "ContentFiles":
    """The files that are content: all but those that `.indexignore` files leave out."""
    everything = ContentFiles(opened, opened.sizes)
    patterns = {
        path: everything[path].decode("utf-8", "replace")
        for path in everything
        if path.rpartition("/")[2] == INDEX_IGNORE
    }
    # A directory that was not entered is left out as a file in it would be.
    inside = {f"{finding.file}/HEAD": finding.file for finding in opened.findings if finding.rule == CHECKOUT.id}
    left_out = ignored([*opened.files, *(finding.file for finding in opened.findings), *inside], patterns)
    left_out |= {inside[path] for path in left_out & inside.keys()}
    return ContentFiles(
        opened,
        {path: size for path, size in opened.sizes.items() if path not in left_out},
        tuple(finding for finding in opened.findings if finding.file not in left_out),
    )


class ContentFiles(Mapping[str, bytes]):
    """Some of the files, with their sizes, each still read when it is asked for; `findings` are those of the others."""

    def __init__(self, opened: OpenedCatalog, sizes: Mapping[str, int], findings: tuple[Finding, ...] = ()) -> None:
        self._opened = opened
        self.sizes = sizes
        self.findings = findings

    def __getitem__(self, path: str) -> bytes:
        try:
            return self._opened.files[path]
        except RukPakError as error:
            raise type(error)(f"{self._opened.typed}: {error}") from error

    def __contains__(self, path: object) -> bool:
        """Answer without reading the file."""
        return path in self.sizes

    def __iter__(self) -> Iterator[str]:
        return iter(self.sizes)

    def __len__(self) -> int:
        return len(self.sizes)


def at_root(opened: OpenedCatalog, finding: Finding) -> Finding:
    """The finding with a path that an editor can open."""
    if opened.root is None or not finding.file:
        return finding
    return replace(finding, file=str(opened.root / finding.file))

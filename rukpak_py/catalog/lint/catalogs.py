"""Warnings about a whole catalog: edges that lead nowhere or down, and dependencies that nothing provides."""

from collections.abc import Iterator

from rukpak_py.catalog.channel_graph import ChannelGraph
from rukpak_py.catalog.checks.package_versions import PackageVersions
from rukpak_py.catalog.checks.places import place_in
from rukpak_py.catalog.checks.whole_catalog import WholeCatalog
from rukpak_py.catalog.model import CONSTRAINT, Channel, Entry
from rukpak_py.catalog.package_index import PackageIndex
from rukpak_py.catalog.similar_names import SimilarNames
from rukpak_py.catalog.upgrades.dependencies import Dependency, Satisfaction, dependencies_of
from rukpak_py.catalog.upgrades.providers import Providers
from rukpak_py.core.findings import Severity
from rukpak_py.core.go_text import quoted
from rukpak_py.core.ranges import Range
from rukpak_py.formats.rules import Family, Problem

CATALOGS: Family[WholeCatalog] = Family(title="Advice for catalogs", origin="rukpak-py")


def _entries(whole: WholeCatalog) -> Iterator[tuple[PackageIndex, Channel, int, Entry]]:
    for index in whole.packages.values():
        for _, channel in sorted(index.channels.items()):
            for number, entry in enumerate(channel.entries):
                yield index, channel, number, entry


@CATALOGS.rule(
    "FBC-W30",
    severity=Severity.WARNING,
    title="Replaced and skipped bundles are in the catalog, but for those older than the channel",
    hint="Correct the name, or remove it where the bundle was never published.",
)
def named_bundles_exist(whole: WholeCatalog) -> Iterator[Problem]:
    similar = SimilarNames()
    for index in whole.packages.values():
        if not whole.is_complete(index.name):
            continue
        versions = PackageVersions(index=index)
        for name, graph in index.graphs.items():
            if graph.entries:
                yield from _names_without_bundles(index, index.channels[name], graph, versions, similar)


def _names_without_bundles(
    index: PackageIndex, channel: Channel, graph: ChannelGraph, versions: PackageVersions, similar: SimilarNames
) -> Iterator[Problem]:
    oldest = min(map(versions.order, graph.entries))
    tail = graph.chain.visited[-1] if graph.chain.visited else None
    for number, entry in enumerate(channel.entries):
        for field, name, path in _named(entry):
            if field == "replaces" and entry.name == tail:
                continue
            is_absent = name and name not in index.bundles and name not in graph.entries
            if is_absent and versions.of(name) and versions.order(name) > oldest:
                hint = similar.meant(name, index.bundles) if field == "replaces" else None
                message = f"{quoted(entry.name)} {field} {quoted(name)}, which is not a bundle of the package"
                yield Problem(message=message, place=place_in(channel.origin, "entries", number, *path), hint=hint)


@CATALOGS.rule(
    "FBC-W31",
    severity=Severity.WARNING,
    title="Versions grow along the edges of a channel",
    hint="Turn the edge round, or correct the version: an upgrade would install an older version.",
)
def versions_grow(whole: WholeCatalog) -> Iterator[Problem]:
    known: dict[str, PackageVersions] = {}
    for index, channel, number, entry in _entries(whole):
        versions = known.setdefault(index.name, PackageVersions(index=index))
        upper = versions.of(entry.name)
        for field, names in (("replaces", (entry.replaces,)), ("skips", entry.skips)):
            for name in names:
                lower = versions.of(name) if name in index.bundles and name != entry.name else None
                if upper is not None and lower is not None and lower > upper:
                    message = f"{quoted(entry.name)} {field} {quoted(name)}, which has the higher version {lower}"
                    yield Problem(message=message, place=place_in(channel.origin, "entries", number, field))


@CATALOGS.rule(
    "FBC-W32",
    severity=Severity.WARNING,
    title="A skipRange does not cover the version of its own entry",
    hint="End the range below the version of the entry, `<1.2.0` for 1.2.0.",
)
def skip_ranges_do_not_cover_themselves(whole: WholeCatalog) -> Iterator[Problem]:
    known: dict[str, PackageVersions] = {}
    for index, channel, number, entry in _entries(whole):
        covered = _range(entry.skip_range)
        version = known.setdefault(index.name, PackageVersions(index=index)).of(entry.name)
        if covered is not None and version is not None and covered.contains(version):
            message = f"skipRange {quoted(entry.skip_range)} of {quoted(entry.name)} covers its own version {version}"
            place = place_in(channel.origin, "entries", number, "skipRange")
            yield Problem(message=message, place=place, hint=f"End the range below that version, with `<{version}`.")


@CATALOGS.rule(
    "FBC-W33",
    severity=Severity.WARNING,
    title="The catalog provides what its bundles depend on",
    hint="Add the package that provides it. Where another catalog of the cluster has it, ignore this rule.",
)
def dependencies_are_provided(whole: WholeCatalog) -> Iterator[Problem]:
    if whole.broken != frozenset():
        return
    providers = Providers(whole.packages)
    for bundle in whole.catalog.bundles:
        for one in dependencies_of(bundle, providers):
            if one.satisfaction is Satisfaction.MISSING:
                message = f"nothing in the catalog provides {_described(one)}, which {quoted(bundle.name)} depends on"
                yield Problem(message=message, place=place_in(bundle.origin, "properties"))


@CATALOGS.rule(
    "FBC-W34",
    severity=Severity.WARNING,
    title="Constraints can be evaluated",
    hint="Write one of `package`, `gvk`, `all`, `any`, `not` and `cel`: no resolver can install the bundle.",
)
def constraints_can_be_evaluated(whole: WholeCatalog) -> Iterator[Problem]:
    providers = Providers({})
    for bundle in whole.catalog.bundles:
        if any(one.type == CONSTRAINT for one in bundle.properties):
            for one in dependencies_of(bundle, providers):
                problem = _problem_in(one) if one.form not in {"olm.package.required", "olm.gvk.required"} else None
                if problem is not None:
                    message = f"a constraint of {quoted(bundle.name)} cannot be evaluated: {problem}"
                    yield Problem(message=message, place=place_in(bundle.origin, "properties"))


@CATALOGS.rule(
    "FBC-W35",
    severity=Severity.WARNING,
    title="The default channel is not deprecated",
    hint="Let `defaultChannel` name another channel, or deprecate the package.",
)
def default_channel_is_not_deprecated(whole: WholeCatalog) -> Iterator[Problem]:
    for index in whole.packages.values():
        package = index.package
        if package is None or not package.default_channel or index.deprecation is not None:
            continue
        if index.deprecation_of_channel(package.default_channel) is not None:
            message = f"default channel {quoted(package.default_channel)} of package {quoted(index.name)} is deprecated"
            yield Problem(message=message, place=place_in(package.origin, "defaultChannel"))


@CATALOGS.rule(
    "FBC-W36",
    severity=Severity.WARNING,
    title="A catalog has a package",
    hint="Check the directory and its .indexignore files: `opm` accepts a catalog without any package.",
)
def catalog_has_a_package(whole: WholeCatalog) -> Iterator[Problem]:
    if not whole.packages and whole.broken == frozenset():
        yield Problem(message="the catalog has no package")


def _named(entry: Entry) -> Iterator[tuple[str, str, tuple[str | int, ...]]]:
    """Field, name and path of each name in an entry."""
    yield "replaces", entry.replaces, ("replaces",)
    for number, name in enumerate(entry.skips):
        yield "skips", name, ("skips", number)


def _range(text: str) -> Range | None:
    try:
        return Range.parse(text) if text else None
    except ValueError:
        return None


def _described(one: Dependency) -> str:
    if one.package:
        return f"package {quoted(one.package)} {one.version_range}".rstrip()
    if one.kind is not None:
        return f"{one.kind.group}/{one.kind.version} {one.kind.kind}"
    return one.failure_message or f"`{one.form}` of a constraint"


def _problem_in(one: Dependency) -> str | None:
    """Why a constraint, or the first part of it that is, is invalid. As deep as constraints are evaluated."""
    if one.satisfaction is Satisfaction.INVALID and not one.parts:
        return f"{one.form}: {one.problem}"
    return next((found for part in one.parts if (found := _problem_in(part)) is not None), None)

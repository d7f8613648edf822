"""Packages, channels and bundles of a catalog as rows, sorted by their names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rukpak_py.catalog.making.csv_metadata import csv_of
from rukpak_py.catalog.model import CSV_METADATA, Bundle
from rukpak_py.catalog.package_index import PackageIndex
from rukpak_py.catalog.upgrades.choosing import find_package, is_package
from rukpak_py.catalog.upgrades.refusal import Refusal


@dataclass(frozen=True, kw_only=True, slots=True)
class PackageRow:
    package: str
    display_name: str = ""
    default_channel: str = ""
    deprecation: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelRow:
    """`heads` has one name, unless the channel is not in order."""

    package: str
    channel: str
    heads: tuple[str, ...]
    entries: int
    is_default: bool = False
    deprecation: str | None = None

    @property
    def head(self) -> str | None:
        return self.heads[0] if len(self.heads) == 1 else None

    @property
    def problem(self) -> str:
        """Why the channel has no one head; empty: it has."""
        match len(self.heads):
            case 1:
                return ""
            case 0:
                return "every entry is replaced or skipped" if self.entries else "no entries"
            case number:
                return f"{number} heads: nothing replaces or skips any of them"


@dataclass(frozen=True, kw_only=True, slots=True)
class BundleRow:
    """An entry of a channel, and its bundle: a bundle has a row for each of its channels."""

    package: str
    channel: str
    bundle: str
    replaces: str = ""
    skips: tuple[str, ...] = ()
    skip_range: str = ""
    image: str = ""
    version: str = ""
    deprecation: str | None = None


def list_packages(packages: Mapping[str, PackageIndex], package: str | None = None) -> tuple[PackageRow, ...] | Refusal:
    chosen = _chosen(packages, package)
    return chosen if isinstance(chosen, Refusal) else tuple(_package_row(index) for index in chosen)


def list_channels(packages: Mapping[str, PackageIndex], package: str | None = None) -> tuple[ChannelRow, ...] | Refusal:
    chosen = _chosen(packages, package)
    return chosen if isinstance(chosen, Refusal) else tuple(row for index in chosen for row in _channel_rows(index))


def list_bundles(packages: Mapping[str, PackageIndex], package: str | None = None) -> tuple[BundleRow, ...] | Refusal:
    chosen = _chosen(packages, package)
    return chosen if isinstance(chosen, Refusal) else tuple(row for index in chosen for row in _bundle_rows(index))


def display_name(bundle: Bundle) -> str:
    """The name for people, of the CSV or of its metadata; empty where the catalog was read slimly."""
    spec = (csv_of(bundle) or {}).get("spec")
    metadata = next(bundle.values_of(CSV_METADATA), None)
    names = [one.get("displayName") for one in (spec, metadata) if isinstance(one, dict)]
    return next((name for name in names if isinstance(name, str) and name), "")


def _chosen(packages: Mapping[str, PackageIndex], package: str | None) -> list[PackageIndex] | Refusal:
    if package is None:
        return [index for _, index in sorted(packages.items()) if is_package(index)]
    found = find_package(packages, package)
    return found if isinstance(found, Refusal) else [found]


def _package_row(index: PackageIndex) -> PackageRow:
    default = index.default_channel
    graph = index.graphs.get(default)
    head = index.bundles.get(graph.head) if graph and graph.head is not None else None
    return PackageRow(
        package=index.name,
        display_name=display_name(head) if head else "",
        default_channel=default,
        deprecation=index.deprecation,
    )


def _channel_rows(index: PackageIndex) -> Iterator[ChannelRow]:
    default = index.default_channel
    for name, graph in index.graphs.items():
        yield ChannelRow(
            package=index.name,
            channel=name,
            heads=graph.heads,
            entries=len(graph.entries),
            is_default=name == default,
            deprecation=index.deprecation_of_channel(name),
        )


def _bundle_rows(index: PackageIndex) -> Iterator[BundleRow]:
    for channel, graph in index.graphs.items():
        for name, entry in sorted(graph.entries.items()):
            bundle = index.bundles.get(name)
            yield BundleRow(
                package=index.name,
                channel=channel,
                bundle=name,
                replaces=entry.replaces,
                skips=entry.skips,
                skip_range=entry.skip_range,
                image=bundle.image if bundle else "",
                version=bundle.version if bundle else "",
                deprecation=index.deprecation_of_bundle(name),
            )

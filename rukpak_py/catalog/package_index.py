"""The blobs of one package, found by name. Of blobs with the same name the first counts; checks report the others."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from rukpak_py.catalog.channel_graph import ChannelGraph
from rukpak_py.catalog.model import (
    BUNDLE,
    CHANNEL,
    PACKAGE,
    Bundle,
    Catalog,
    Channel,
    CustomBlob,
    Deprecations,
    Package,
)


@dataclass(kw_only=True)
class PackageIndex:
    name: str
    package: Package | None = None  # None: other blobs name a package that the catalog does not have
    channels: dict[str, Channel] = field(default_factory=dict)
    bundles: dict[str, Bundle] = field(default_factory=dict)
    deprecations: Deprecations | None = None
    custom: list[CustomBlob] = field(default_factory=list)

    @cached_property
    def graphs(self) -> Mapping[str, ChannelGraph]:
        return {name: ChannelGraph.of(channel.entries) for name, channel in sorted(self.channels.items())}

    @cached_property
    def _messages(self) -> Mapping[tuple[str, str], str]:
        entries = self.deprecations.entries if self.deprecations else ()
        return {(entry.schema, entry.name): entry.message for entry in entries}

    @property
    def default_channel(self) -> str:
        """Empty where the package has none, or is not there itself."""
        return self.package.default_channel if self.package else ""

    @property
    def deprecation(self) -> str | None:
        """Message of the package's own deprecation; None: it is not deprecated."""
        return self._messages.get((PACKAGE, ""))

    def deprecation_of_channel(self, name: str) -> str | None:
        return self._messages.get((CHANNEL, name))

    def deprecation_of_bundle(self, name: str) -> str | None:
        return self._messages.get((BUNDLE, name))


def by_package(catalog: Catalog) -> dict[str, PackageIndex]:
    """Sorted by the names of the packages. Custom blobs without a package belong to none."""
    found: dict[str, PackageIndex] = {}

    def of(name: str) -> PackageIndex:
        return found.setdefault(name, PackageIndex(name=name))

    for package in catalog.packages:
        index = of(package.name)
        index.package = index.package or package
    for channel in catalog.channels:
        of(channel.package).channels.setdefault(channel.name, channel)
    for bundle in catalog.bundles:
        of(bundle.package).bundles.setdefault(bundle.name, bundle)
    for deprecations in catalog.deprecations:
        index = of(deprecations.package)
        index.deprecations = index.deprecations or deprecations
    for blob in catalog.custom:
        if blob.package:
            of(blob.package).custom.append(blob)
    return dict(sorted(found.items()))

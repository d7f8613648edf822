"""The package, the channels and the versions that a question is about."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from rukpak_py.catalog.package_index import PackageIndex
from rukpak_py.catalog.similar_names import close_names
from rukpak_py.catalog.upgrades.refusal import Cause, Refusal
from rukpak_py.core.ranges import Range
from rukpak_py.core.versions import Version


class VersionRange(Protocol):
    """A range of versions in any syntax; that of OLM is `rukpak_py.core.ranges.Range`."""

    @property
    def text(self) -> str: ...

    def contains(self, version: Version, /) -> bool: ...


def is_package(index: PackageIndex) -> bool:
    """Whether the catalog has more of the package than deprecations or blobs of schemas that are not OLM's."""
    return index.package is not None or bool(index.channels) or bool(index.bundles)


def find_package(packages: Mapping[str, PackageIndex], package: str) -> PackageIndex | Refusal:
    index = packages.get(package)
    if index is not None and is_package(index):
        return index
    known = [name for name, one in packages.items() if is_package(one)]
    alternatives = close_names(package, known)
    return Refusal(cause=Cause.UNKNOWN_PACKAGE, package=package, asked=package, alternatives=alternatives)


def choose_channels(
    packages: Mapping[str, PackageIndex], package: str, channel: str | Iterable[str] | None = None
) -> tuple[str, ...] | Refusal:
    """The named channels of a package, each once, or its default channel."""
    index = find_package(packages, package)
    if isinstance(index, Refusal):
        return index
    if channel is None:
        default = index.default_channel
        if not default:
            return Refusal(cause=Cause.NO_DEFAULT_CHANNEL, package=package, alternatives=tuple(index.graphs))
        channel = default
    names = tuple(dict.fromkeys((channel,) if isinstance(channel, str) else channel))
    for name in names:
        if name not in index.graphs:
            alternatives = tuple(index.graphs)
            return Refusal(cause=Cause.UNKNOWN_CHANNEL, package=package, asked=name, alternatives=alternatives)
    return names


def parse_version_range(package: str, version_range: str | VersionRange | None) -> VersionRange | Refusal | None:
    if not isinstance(version_range, str):
        return version_range
    try:
        return Range.parse(version_range)
    except ValueError as error:
        return Refusal(cause=Cause.INVALID_RANGE, package=package, asked=version_range, problem=str(error))

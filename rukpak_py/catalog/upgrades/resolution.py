"""The answer of the resolver: a bundle, how it is reached, what was passed over, and what follows."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from rukpak_py.catalog.model import BUNDLE, CHANNEL, PACKAGE, Bundle, Deprecation
from rukpak_py.catalog.package_index import PackageIndex
from rukpak_py.catalog.upgrades.dependencies import Dependency
from rukpak_py.catalog.upgrades.installed import InstalledBundle
from rukpak_py.catalog.upgrades.upgrade_graph import Edge
from rukpak_py.catalog.upgrades.upgrade_paths import UpgradePath


class Reason(StrEnum):
    """Why a candidate was passed over."""

    NO_BUNDLE = "NoBundle"  # a channel names it, the catalog does not have it
    INVALID_VERSION = "InvalidVersion"
    OUT_OF_RANGE = "OutOfRange"
    NO_EDGE = "NoEdge"  # higher than the installed bundle, which it does not upgrade
    NOT_HIGHER = "NotHigher"  # than the installed bundle
    DEPRECATED = "Deprecated"  # would be preferred if it were not
    LOWER_VERSION = "LowerVersion"  # than the bundle that was chosen; or equal, and less preferred


@dataclass(frozen=True, kw_only=True, slots=True)
class PassedOver:
    bundle: str
    version: str
    reason: Reason
    detail: str = ""  # the range, or the message of the deprecation


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolution:
    package: str
    bundle: Bundle
    channels: tuple[str, ...]  # of the chosen ones, those that have the bundle
    installed: InstalledBundle | None = None
    edge: Edge | None = None  # from the installed bundle; None: nothing is installed, or it stays
    skipped: tuple[str, ...] = ()  # entries between the installed bundle and this one, ascending
    passed_over: tuple[PassedOver, ...] = ()  # the highest first
    deprecations: tuple[Deprecation, ...] = ()  # of the package, of its channels here, and of the bundle
    path: UpgradePath  # the upgrades that follow, whatever the range
    dependencies: tuple[Dependency, ...] = ()

    @property
    def version(self) -> str:
        return self.bundle.version

    @property
    def stays(self) -> bool:
        """Whether the bundle is the installed one."""
        return self.installed is not None and self.installed.name == self.bundle.name

    @property
    def is_head(self) -> bool:
        return self.path.reaches_head and not self.path.steps


def deprecations_of(index: PackageIndex, channels: Iterable[str], bundle: str) -> tuple[Deprecation, ...]:
    """The deprecations that a user of the bundle in these channels should know: the widest first."""
    asked = [
        (PACKAGE, "", index.deprecation),
        *((CHANNEL, name, index.deprecation_of_channel(name)) for name in channels),
        (BUNDLE, bundle, index.deprecation_of_bundle(bundle)),
    ]
    return tuple(
        Deprecation(schema=schema, name=name, message=text) for schema, name, text in asked if text is not None
    )

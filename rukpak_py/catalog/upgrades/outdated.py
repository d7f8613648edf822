"""Installed bundles against a catalog: what is up to date, what can be upgraded, and what the catalog does not know."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from rukpak_py.catalog.model import Deprecation
from rukpak_py.catalog.package_index import PackageIndex
from rukpak_py.catalog.upgrades.installed import Installed, find_installed
from rukpak_py.catalog.upgrades.refusal import Refusal
from rukpak_py.catalog.upgrades.resolution import Reason, Resolution, deprecations_of
from rukpak_py.catalog.upgrades.resolve import Resolver


class State(StrEnum):
    UP_TO_DATE = "UpToDate"
    UPGRADABLE = "Upgradable"
    STUCK = "Stuck"  # higher bundles are there, and no edge leads to one
    NOT_IN_CHANNEL = "NotInChannel"  # the package has the bundle, the channel does not, and nothing leads on
    NOT_IN_CATALOG = "NotInCatalog"  # the package does not have the bundle, and nothing leads on
    UNKNOWN = "Unknown"  # `refusal` says why: no such package or channel


@dataclass(frozen=True, kw_only=True, slots=True)
class InstalledPackage:
    """A bundle that is installed, by name or version; of the default channel where none is given."""

    package: str
    version: str = ""
    name: str = ""
    channel: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    installed: InstalledPackage
    state: State
    is_known: bool = False  # the package has the bundle, in some channel
    next: str | None = None  # name of the bundle that an upgrade installs
    next_version: str = ""
    newest: str | None = None  # name of the bundle that is installed where nothing is
    newest_version: str = ""
    upgrades_left: int = 0  # until the end of the path
    reaches_head: bool = False
    deprecations: tuple[Deprecation, ...] = ()  # of the package, the channel and the installed bundle
    refusal: Refusal | None = None


def compare(installed: Iterable[InstalledPackage], packages: Mapping[str, PackageIndex]) -> tuple[Comparison, ...]:
    """One answer for each, in their order."""
    resolver = Resolver(packages)
    return tuple(_compared(one, resolver) for one in installed)


def _compared(installed: InstalledPackage, resolver: Resolver) -> Comparison:
    package, channel = installed.package, installed.channel
    fresh = resolver.resolve(package, channel=channel)
    if isinstance(fresh, Refusal):
        return Comparison(installed=installed, state=State.UNKNOWN, refusal=fresh)
    index = resolver.packages[package]
    found = find_installed(index, Installed(name=installed.name, version=installed.version))
    if isinstance(found, Refusal):
        return Comparison(installed=installed, state=State.UNKNOWN, refusal=found)
    known = Installed(name=found.name, version=str(found.version.version) if found.version else "")
    answer = resolver.resolve(package, channel=channel, installed=known)
    upgrade = answer if isinstance(answer, Resolution) and not answer.stays else None
    path = answer.path if isinstance(answer, Resolution) else None
    default = index.default_channel
    return Comparison(
        installed=installed,
        state=_state(answer, is_known=found.bundle is not None),
        is_known=found.bundle is not None,
        next=upgrade.bundle.name if upgrade else None,
        next_version=upgrade.version if upgrade else "",
        newest=fresh.bundle.name,
        newest_version=fresh.version,
        upgrades_left=(len(path.steps) if path else 0) + bool(upgrade),
        reaches_head=path is not None and path.reaches_head,
        deprecations=deprecations_of(index, [channel or default], found.name),
    )


def _state(answer: Resolution | Refusal, *, is_known: bool) -> State:
    if isinstance(answer, Refusal):
        return State.NOT_IN_CHANNEL if is_known else State.NOT_IN_CATALOG
    if not answer.stays:
        return State.UPGRADABLE
    has_higher = any(one.reason is Reason.NO_EDGE for one in answer.passed_over)
    return State.STUCK if has_higher and not answer.is_head else State.UP_TO_DATE

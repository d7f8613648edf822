"""The bundle that is installed, and what a package of a catalog knows of it."""

from dataclasses import dataclass

from rukpak_py.catalog.model import Bundle
from rukpak_py.catalog.package_index import PackageIndex
from rukpak_py.catalog.similar_names import close_names
from rukpak_py.catalog.upgrades.bundle_order import BundleVersion, bundle_version, parse_version, precedence
from rukpak_py.catalog.upgrades.refusal import Cause, Refusal


@dataclass(frozen=True, kw_only=True, slots=True)
class Installed:
    """A name, a version, or both. The name is that of the bundle, usually `<package>.v<version>`."""

    name: str = ""
    version: str = ""

    @classmethod
    def of(cls, text: str) -> "Installed":
        """The text is a version where it is a valid one, else a name."""
        return cls(version=text) if parse_version(text) else cls(name=text)

    @property
    def text(self) -> str:
        return self.name or self.version


@dataclass(frozen=True, kw_only=True, slots=True)
class InstalledBundle:
    """The installed bundle as it was found, or not found, in a catalog."""

    name: str = ""  # empty: only the version is known
    version: BundleVersion | None = None
    bundle: Bundle | None = None  # None: the catalog does not have it

    @property
    def text(self) -> str:
        return self.name or (str(self.version.version) if self.version else "")


def find_installed(index: PackageIndex, installed: Installed) -> InstalledBundle | Refusal:
    """The bundle of this name; without a name, the one of this version."""
    known = index.bundles.get(installed.name) if installed.name else None
    if known is not None:
        return InstalledBundle(name=known.name, version=bundle_version(known), bundle=known)
    version = parse_version(installed.version or _version_in(installed.name, index.name))
    if installed.name or version is None:
        return InstalledBundle(
            name=installed.name or installed.version,
            version=BundleVersion(version=version, precedence=precedence(version)) if version else None,
        )
    exact = [one for one in index.bundles.values() if one.version == installed.version]
    found = exact or _equal_to(index, BundleVersion(version=version, precedence=precedence(version)))
    if len(found) > 1:
        return Refusal(
            cause=Cause.AMBIGUOUS_BUNDLE,
            package=index.name,
            asked=installed.version,
            alternatives=tuple(sorted(one.name for one in found)),
        )
    if found:
        return InstalledBundle(name=found[0].name, version=bundle_version(found[0]), bundle=found[0])
    return InstalledBundle(version=BundleVersion(version=version, precedence=precedence(version)))


def unknown_bundle(index: PackageIndex, asked: str) -> Refusal:
    """The package has no bundle of this name or version; names and versions that are like it."""
    known = [text for one in index.bundles.values() for text in (one.name, one.version)]
    alternatives = close_names(asked, known)
    return Refusal(cause=Cause.UNKNOWN_BUNDLE, package=index.name, asked=asked, alternatives=alternatives)


def _equal_to(index: PackageIndex, wanted: BundleVersion) -> list[Bundle]:
    versions = ((one, bundle_version(one)) for one in index.bundles.values())
    return [one for one, version in versions if version and version.precedence == wanted.precedence]


def _version_in(name: str, package: str) -> str:
    """The version in a name that follows the convention."""
    for start in (f"{package}.v", f"{package}-v"):
        if name.startswith(start):
            return name.removeprefix(start)
    return ""

"""Small catalogs as values: a channel is a list of entries, and every entry has a bundle."""

from collections.abc import Iterable, Mapping

from rukpak_py.catalog.model import (
    BUNDLE,
    CHANNEL,
    GVK,
    PACKAGE,
    PACKAGE_PROPERTY,
    Bundle,
    Catalog,
    Channel,
    Deprecation,
    Deprecations,
    Entry,
    Package,
    Property,
)
from rukpak_py.catalog.package_index import PackageIndex, by_package


def entry(
    version: str, replaces: str = "", skips: Iterable[str] = (), skip_range: str = "", package: str = "p"
) -> Entry:
    """Versions stand for the names of their bundles."""
    return Entry(
        name=name_of(version, package),
        replaces=name_of(replaces, package) if replaces else "",
        skips=tuple(name_of(one, package) for one in skips),
        skip_range=skip_range,
    )


def name_of(version: str, package: str = "p") -> str:
    return f"{package}.v{version}"


def bundle(version: str, package: str = "p", properties: Iterable[Property] = (), image: str = "") -> Bundle:
    name = name_of(version, package)
    return Bundle(
        package=package,
        name=name,
        image=image or f"example.com/{package}:v{version.replace('+', '-')}",
        properties=(
            Property(type=PACKAGE_PROPERTY, value={"packageName": package, "version": version}),
            *properties,
        ),
    )


def provides(kind: str, group: str = "example.com", version: str = "v1") -> Property:
    return Property(type=GVK, value={"group": group, "version": version, "kind": kind})


def catalog(
    channels: Mapping[str, Iterable[Entry]],
    *,
    package: str = "p",
    default: str = "",
    properties: Mapping[str, Iterable[Property]] | None = None,
    deprecated: Mapping[str, str] | None = None,
    without: Iterable[str] = (),
) -> Catalog:
    """One package. `properties` by version; `deprecated`: messages by version, by channel, or by package."""
    listed = {name: tuple(entries) for name, entries in channels.items()}
    names = {one.name: None for entries in listed.values() for one in entries}
    absent = {name_of(version, package) for version in without}
    return Catalog(
        packages=(Package(name=package, default_channel=default or next(iter(listed), "")),),
        channels=tuple(Channel(package=package, name=name, entries=entries) for name, entries in listed.items()),
        bundles=tuple(
            bundle(version, package, (properties or {}).get(version, ()))
            for name in names
            if name not in absent
            for version in [name.removeprefix(f"{package}.v")]
        ),
        deprecations=tuple(_deprecations(deprecated or {}, listed, package)),
    )


def _deprecations(messages: Mapping[str, str], channels: Mapping[str, object], package: str) -> Iterable[Deprecations]:
    entries = []
    for name, message in messages.items():
        if name == package:
            entries.append(Deprecation(schema=PACKAGE, message=message))
        elif name in channels:
            entries.append(Deprecation(schema=CHANNEL, name=name, message=message))
        else:
            entries.append(Deprecation(schema=BUNDLE, name=name_of(name, package), message=message))
    if entries:
        yield Deprecations(package=package, entries=tuple(entries))


def packages(*catalogs: Catalog) -> dict[str, PackageIndex]:
    return by_package(sum(catalogs, Catalog()))

"""Catalogs with very many defects of one kind: each is told, in time that grows with their number."""

import base64
import time
from collections.abc import Callable

import pytest

from rukpak_py.catalog.checks.bundle_checks import objects_are_manifests
from rukpak_py.catalog.checks.rules import CATALOG_FAMILIES, problems_of_catalog
from rukpak_py.catalog.checks.whole_catalog import WholeCatalog
from rukpak_py.catalog.lint.rules import LINT_FAMILIES
from rukpak_py.catalog.model import (
    Bundle,
    Catalog,
    Channel,
    CustomBlob,
    Deprecation,
    Deprecations,
    Entry,
    Package,
    Property,
)

MANY = 10_000
NAMES = [f"p.v1.{number}.0" for number in range(MANY)]
PACKAGE = Package(name="p", default_channel="a")


def bundle(name: str, package: str = "p") -> Bundle:
    version = {"packageName": package, "version": name.partition(".v")[2]}
    required = {"packageName": "q", "versionRange": ">=1.0.0"}
    properties = (Property(type="olm.package", value=version), Property(type="olm.package.required", value=required))
    return Bundle(package=package, name=name, properties=properties)


def channel(name: str, *entries: Entry, package: str = "p") -> Channel:
    return Channel(package=package, name=name, entries=entries)


CATALOGS: dict[str, Callable[[], Catalog]] = {
    "unknown packages": lambda: Catalog(
        packages=tuple(Package(name=f"operator-{number}") for number in range(300)),
        channels=tuple(channel("a", package=f"operators-{number}") for number in range(MANY)),
        bundles=tuple(bundle(name, name) for name in NAMES),
        deprecations=tuple(Deprecations(package=f"operatos-{number}") for number in range(MANY)),
    ),
    "bundles in no channel": lambda: Catalog(
        packages=(PACKAGE,),
        channels=(channel("a", *(Entry(name=f"{name}-1") for name in NAMES)),),
        bundles=tuple(map(bundle, NAMES)),
    ),
    "channels whose bundles are missing": lambda: Catalog(
        packages=(PACKAGE,),
        channels=tuple(channel(name, Entry(name=f"{name}-1")) for name in NAMES),
        bundles=tuple(map(bundle, NAMES)),
    ),
    "default channels that are missing": lambda: Catalog(
        packages=tuple(Package(name=name, default_channel=f"{name}1") for name in NAMES),
        channels=tuple(channel(name, Entry(name=name), package=name) for name in NAMES),
    ),
    "deprecations of nothing": lambda: Catalog(
        packages=(PACKAGE,),
        channels=tuple(channel(f"c{number}") for number in range(300)),
        deprecations=(
            Deprecations(package="p", entries=tuple(Deprecation(schema="olm.channel", name=name) for name in NAMES)),
        ),
    ),
    "names that are no bundles": lambda: Catalog(
        packages=(PACKAGE,),
        channels=(channel("a", *(Entry(name=name, replaces=f"{name}-1", skips=("p.v2.0.0",)) for name in NAMES)),),
        bundles=tuple(map(bundle, NAMES)),
    ),
    "duplicates": lambda: Catalog(
        packages=(PACKAGE,) * MANY,
        channels=(channel("a", *(Entry(name=NAMES[0]),) * MANY),) * 2,
        bundles=(bundle(NAMES[0]),) * MANY,
        custom=(CustomBlob(schema="olm.x", package="p"),) * MANY,
    ),
}


@pytest.mark.parametrize("name", CATALOGS)
def test_many_defects_are_told_in_seconds(name: str) -> None:
    catalog = CATALOGS[name]()
    start = time.process_time()
    found = list(problems_of_catalog(WholeCatalog(catalog=catalog), (*CATALOG_FAMILIES, *LINT_FAMILIES)))
    assert time.process_time() - start < 15
    assert found


def test_objects_of_aliases_are_read_in_bounded_time() -> None:
    """Each is a few bytes, and with its aliases expanded some hundred kilobytes."""
    lists = "".join(
        f"{chr(98 + level)}: &{chr(98 + level)} [{','.join(['*' + chr(97 + level)] * 9)}]\n" for level in range(5)
    )
    data = base64.b64encode(f"a: &a [x,x,x,x,x,x,x,x,x]\n{lists}".encode()).decode()
    properties = (Property(type="olm.bundle.object", value={"data": data}),) * 500
    start = time.process_time()
    found = list(objects_are_manifests(Bundle(package="p", name="p.v1", properties=properties)))
    assert time.process_time() - start < 15
    assert len(found) == 500

"""Packages that bundles require of the catalog that they come from."""

from collections.abc import Collection, Iterable, Iterator

from rukpak_py.catalog.model import Bundle, Catalog
from rukpak_py.catalog.package_index import by_package
from rukpak_py.catalog.upgrades.dependencies import Dependency, Satisfaction, dependencies_of
from rukpak_py.catalog.upgrades.providers import Providers


def packages_required(
    bundles: Iterable[Bundle], providers: Providers, *, known: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Packages beyond the known ones that are needed, with the bundles that need them.

    Of several providers a package that is known counts, else the first. What no package provides is left out.
    """
    found: dict[str, list[str]] = {}
    reached = set(known)
    for bundle in bundles:
        for dependency in dependencies_of(bundle, providers):
            for package in _chosen(dependency, reached):
                reached.add(package)
                if package not in known:
                    found.setdefault(package, []).append(bundle.name)
    return {package: tuple(dict.fromkeys(names)) for package, names in found.items()}


def dependencies_lost(kept: Catalog, providers: Providers) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Package, a package that could provide what it requires, and the bundles that nothing kept satisfies any more."""
    remaining = Providers(by_package(kept))
    found: dict[tuple[str, str], list[str]] = {}
    for bundle in kept.bundles:
        now = dependencies_of(bundle, remaining)
        if all(one.satisfaction is not Satisfaction.MISSING for one in now):
            continue
        for before, after in zip(dependencies_of(bundle, providers), now, strict=False):
            if after.satisfaction is Satisfaction.MISSING and before.satisfaction is not Satisfaction.MISSING:
                for package in _chosen(before, ()):
                    found.setdefault((bundle.package, package), []).append(bundle.name)
    for (package, provider), names in sorted(found.items()):
        yield package, provider, tuple(dict.fromkeys(names))


def _chosen(dependency: Dependency, known: Collection[str]) -> list[str]:
    """The packages that satisfy a dependency, at most one for each of its parts."""
    if dependency.satisfaction not in {Satisfaction.SATISFIED, Satisfaction.CONDITIONAL}:
        return []
    match dependency.form:
        case "not":
            return []
        case "all":
            return [package for part in dependency.parts for package in _chosen(part, known)]
        case "any":
            choices = [
                _chosen(part, known) for part in dependency.parts if part.satisfaction < Satisfaction.NOT_EVALUATED
            ]
            return min(choices, key=lambda packages: sum(package not in known for package in packages), default=[])
        case _:
            names = [provider.package for provider in dependency.providers]
            return next(([name] for name in names if name in known), names[:1])

"""`rukpakctl catalog query`: questions about kinds, upgrade paths and bundles."""

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click

from rukpak_py.catalog.package_index import PackageIndex, by_package
from rukpak_py.catalog.upgrades import query as asking
from rukpak_py.cli.catalogs.answers import demand
from rukpak_py.cli.catalogs.flags import catalog_option, catalog_options, load_options
from rukpak_py.cli.catalogs.loading import load_valid
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.reports import catalog_answers as report
from rukpak_py.cli.terminal import Exit, Style, clean, epilog, print_json, print_lines
from rukpak_py.core.text import named

F = TypeVar("F", bound=Callable[..., Any])
_FAILED = "the catalog cannot be read, is not valid, or has no such package"
_epilog = epilog(failed=_FAILED)


@click.group(short_help="Ask a catalog about kinds, upgrades and bundles.", epilog=_epilog)
def query() -> None:
    """Ask a catalog who provides a kind, which upgrades lead where, and what a bundle needs."""


def _options(command: F) -> F:
    return catalog_option(output_option("text", "json")(catalog_options(command)))


@query.command(epilog=epilog(no="no bundle provides it", failed="the catalog cannot be read or is not valid"))
@click.argument("kind", metavar="KIND[.GROUP]")
@click.option("--group", metavar="NAME", help="The API group of the kind. Default: any.")
@click.option("--version", metavar="NAME", help="The API version of the kind. Default: any.")
@_options
def kind(*, kind: str, group: str | None, version: str | None, output: str, **reading: Any) -> int:
    """Find the packages that provide a kind, such as `Prometheus`.

    With its group it is `Prometheus.monitoring.coreos.com`.
    """
    name, dot, of_name = kind.partition(".")
    if dot and group not in {None, of_name}:
        raise click.UsageError(f"{kind!r} names another group than --group {group!r}")
    packages = _packages(reading)
    found = asking.providers_of(packages, name, group=of_name if dot else group, version=version)
    if output == "json":
        print_json([report.provider_document(one) for one in found])
    elif found:
        print_lines(report.provider_lines(found, width=Style(sys.stdout).room))
    else:
        meant = asking.similar_kinds(packages, name)
        advice = f"; did you mean {named(meant)}?" if meant else ""
        print_lines([clean(f"no bundle of the catalog provides {kind}{advice}")])
    return Exit.OK if found else Exit.NO


@query.command(epilog=epilog(no="no upgrade leads to the head", failed=f"{_FAILED} or bundle"))
@click.argument("package")
@click.argument("installed", metavar="FROM")
@click.option(
    "--channel", "channels", multiple=True, metavar="NAME", help="May be repeated. Default: the default channel."
)
@_options
def path(*, package: str, installed: str, channels: tuple[str, ...], output: str, **reading: Any) -> int:
    """Show the upgrades from a version or bundle FROM to the head of a channel.

    First the path with the fewest upgrades; then, where it is another one, that of taking the most preferred upgrade
    each time, as `resolve` does.
    """
    found = demand(asking.paths_to_head(_packages(reading), package, installed, channel=channels or None))
    _print(output, report.path_document(found), report.path_lines(found))
    return Exit.OK if found.shortest is not None else Exit.NO


@query.command(epilog=_epilog)
@click.argument("package")
@_options
def newest(*, package: str, output: str, **reading: Any) -> None:
    """Show the bundle of each channel of a package that is installed where nothing is."""
    found = demand(asking.newest(_packages(reading), package))
    _print(output, [report.newest_document(one) for one in found], report.newest_lines(found))


@query.command(epilog=_epilog)
@click.argument("package")
@click.argument("bundle")
@_options
def bundle(*, package: str, bundle: str, output: str, **reading: Any) -> None:
    """Show the kinds that a bundle provides, and what it requires. BUNDLE is a name or a version."""
    found = demand(asking.interface_of(_packages(reading), package, bundle))
    _print(output, report.interface_document(found), report.interface_lines(found))


@query.command(
    short_help="List bundles that cannot be upgraded to the head of their channel.",
    epilog=epilog(no="there are such bundles", failed=_FAILED),
)
@click.argument("package")
@click.option("--channel", metavar="NAME", help="Default: all.")
@_options
def stranded(*, package: str, channel: str | None, output: str, **reading: Any) -> int:
    """List the bundles of a package from which the head of their channel cannot be reached."""
    found = demand(asking.unreachable_heads(_packages(reading), package, channel=channel))
    _print(output, [report.unreachable_document(one) for one in found], report.unreachable_lines(found))
    return Exit.NO if found else Exit.OK


def _packages(reading: Mapping[str, Any]) -> Mapping[str, PackageIndex]:
    options = load_options(no_cache=reading["no_cache"], jobs=reading["jobs"])
    return by_package(load_valid(reading["catalog"], options).content.catalog)


def _print(output: str, document: Any, lines: Iterable[str]) -> None:
    if output == "json":
        print_json(document)
    else:
        print_lines(lines)

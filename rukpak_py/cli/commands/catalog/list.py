"""`rukpakctl catalog list packages`, `channels` and `bundles`."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import click

from rukpak_py.catalog import listing
from rukpak_py.catalog.package_index import PackageIndex, by_package
from rukpak_py.catalog.upgrades.refusal import Refusal
from rukpak_py.cli.catalogs.answers import demand
from rukpak_py.cli.catalogs.flags import catalog_argument, catalog_options, load_options
from rukpak_py.cli.catalogs.loading import load_valid
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.reports import catalog_rows as report
from rukpak_py.cli.terminal import Style, epilog, print_json, print_lines

Row = TypeVar("Row")
F = TypeVar("F", bound=Callable[..., Any])
_package = click.argument("package", required=False)
_epilog = epilog(failed="the catalog cannot be read, is not valid, or has no such package")


@click.group(name="list", epilog=_epilog)
def listed() -> None:
    """List the packages, channels or bundles of a catalog, which has to be valid."""


def _options(command: F) -> F:
    return catalog_argument(_package(output_option("text", "json")(catalog_options(command))))


@listed.command(epilog=_epilog)
@_options
def packages(**chosen: Any) -> None:
    """List packages with their display name and default channel."""
    _print(chosen, listing.list_packages, report.package_lines, report.package_document, is_slim=False)


@listed.command(epilog=_epilog)
@_options
def channels(**chosen: Any) -> None:
    """List channels with their heads; `*` marks the default channel of a package."""
    _print(chosen, listing.list_channels, report.channel_lines, report.channel_document)


@listed.command(epilog=_epilog)
@_options
def bundles(**chosen: Any) -> None:
    """List the entries of all channels, each with what it replaces and skips, and with its image."""
    _print(chosen, listing.list_bundles, report.bundle_lines, report.bundle_document)


def _print(
    chosen: dict[str, Any],
    ask: Callable[[Mapping[str, PackageIndex], str | None], Sequence[Row] | Refusal],
    lines_of: Callable[..., Iterator[str]],
    document_of: Callable[[Row], dict[str, Any]],
    *,
    is_slim: bool = True,
) -> None:
    options = load_options(no_cache=chosen["no_cache"], jobs=chosen["jobs"], is_slim=is_slim)
    loaded = load_valid(chosen["catalog"], options)
    rows = demand(ask(by_package(loaded.content.catalog), chosen["package"]))
    if chosen["output"] == "json":
        print_json([document_of(row) for row in rows])
    else:
        print_lines(lines_of(rows, width=Style(sys.stdout).room))

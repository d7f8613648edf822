"""A valid catalog as packages, and the answer of a command to a question that the catalog has no answer to."""

import sys

import click

from rukpak_py.catalog.package_index import PackageIndex, by_package
from rukpak_py.catalog.upgrades.refusal import Refusal
from rukpak_py.cli.catalogs.loading import LoadOptions, load_valid
from rukpak_py.cli.terminal import Exit, Style, clean


def packages_of(typed: str, options: LoadOptions) -> dict[str, PackageIndex]:
    return by_package(load_valid(typed, options).content.catalog)


def print_refusal(refused: Refusal) -> int:
    """Print cause and remedy as an error; returns the exit status."""
    title = Style(sys.stderr).paint("Error:", "red", "bold")
    click.echo(f"{title} {clean(refused.message)}", err=True)
    if refused.remedy:
        click.echo(f"hint: {clean(refused.remedy)}", err=True)
    return Exit.NO

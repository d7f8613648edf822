"""`rukpakctl catalog resolve`."""

import sys

import click

from rukpak_py.cli.catalogs.flags import catalog_option, catalog_options, load_options
from rukpak_py.cli.catalogs.version_ranges import range_option
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.terminal import Exit, Style, epilog, print_json, print_lines


@click.command(epilog=epilog(no="the catalog has no such bundle", failed="the catalog cannot be read, or is not valid"))
@click.argument("package")
@catalog_option
@click.option("--channel", "channels", multiple=True, metavar="CHANNEL", help="Default: the default channel.")
@click.option(
    "--version-range",
    callback=range_option,
    metavar="RANGE",
    help='Versions that are wanted, such as ">=1.2.0 <2.0.0".',
)
@click.option(
    "--from", "installed", metavar="VERSION|BUNDLE", help="What is installed: the answer is an upgrade of it."
)
@click.option("--verbose", is_flag=True, help="Everything that was passed over, each with its reason.")
@output_option("text", "json")
@catalog_options
def resolve(
    *,
    package: str,
    catalog: str,
    channels: tuple[str, ...],
    version_range: str | None,
    installed: str | None,
    verbose: bool,
    output: str,
    no_cache: bool,
    jobs: int | None,
) -> int:
    """Print which bundle of a package is installed, and why.

    Without --from it is the highest version in the range, of those that are not deprecated. With --from it is what the
    edges of the upgrade graph lead to (replaces, skips and skipRange), as OLM follows them: one step, or the installed
    bundle where there is none.
    """
    from rukpak_py.catalog.upgrades import resolve as resolving  # noqa: PLC0415 - help and completion do not need it
    from rukpak_py.catalog.upgrades.refusal import Refusal  # noqa: PLC0415 - the same
    from rukpak_py.cli.catalogs.resolving import packages_of, print_refusal  # noqa: PLC0415 - the same
    from rukpak_py.cli.reports import resolution as report  # noqa: PLC0415 - the same

    packages = packages_of(catalog, load_options(no_cache=no_cache, jobs=jobs))
    found = resolving.resolve(
        packages, package, channel=channels or None, version_range=version_range, installed=installed
    )
    if isinstance(found, Refusal):
        if output == "json":
            print_json(report.refusal_document(found))
            return Exit.NO
        return print_refusal(found)
    if output == "json":
        print_json(report.document(found))
    else:
        print_lines(report.lines_of(found, Style(sys.stdout), verbose=verbose))
    return Exit.OK

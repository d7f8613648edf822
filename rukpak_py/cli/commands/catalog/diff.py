"""`rukpakctl catalog diff`."""

import sys

import click

from rukpak_py.catalog.checks.blob_checks import Checks
from rukpak_py.cli.catalogs.flags import catalog_options, load_options
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.terminal import Exit, Style, epilog, print_json, print_lines


@click.command(
    short_help="Compare two catalogs.",
    epilog=epilog(no="there are differences, with --exit-code", failed="a catalog cannot be read"),
)
@click.argument("old", type=click.Path())
@click.argument("new", type=click.Path())
@click.option("--exit-code", is_flag=True, help="Exit with 1 when there is a difference.")
@output_option("text", "json")
@catalog_options
def diff(*, old: str, new: str, exit_code: bool, output: str, no_cache: bool, jobs: int | None) -> int:
    """Compare two catalogs: packages, channels, edges, bundles, images, properties, deprecations, defaults.

    Files, the order of blobs and other things without a meaning make no difference. What came with the new head of a
    channel stands below it.
    """
    from rukpak_py.catalog.differences import diff as differences  # noqa: PLC0415 - help does not need it
    from rukpak_py.cli.catalogs.loading import load_readable  # noqa: PLC0415 - the same
    from rukpak_py.cli.reports import catalog_differences as report  # noqa: PLC0415 - the same

    options = load_options(no_cache=no_cache, jobs=jobs, is_slim=False, checks=Checks.READING)
    before, after = (load_readable(typed, options).content.catalog for typed in (old, new))
    found = differences(before, after)
    if output == "json":
        print_json([report.document(change) for change in found])
    else:
        print_lines(report.lines_of(found, Style(sys.stdout)))
    return Exit.NO if exit_code and found else Exit.OK

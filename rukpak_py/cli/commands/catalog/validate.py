"""`rukpakctl catalog validate`."""

import click

from rukpak_py.cli.catalogs.flags import catalog_options, load_options
from rukpak_py.cli.catalogs.loading import report_of
from rukpak_py.cli.catalogs.reporting import print_reports
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.terminal import epilog


@click.command(
    short_help="Check whether catalogs are valid, with a line and advice for each error.",
    epilog=epilog(no="a catalog has errors", failed="a catalog cannot be read"),
)
@click.argument("catalogs", nargs=-1, required=True, type=click.Path(), metavar="CATALOG...")
@output_option("text", "json", "sarif", "github")
@catalog_options
def validate(*, catalogs: tuple[str, ...], output: str, no_cache: bool, jobs: int | None) -> int:
    """Check catalogs: everything that makes `opm validate` refuse one, all of it at once, each at its line.

    CATALOG is a directory, a file of blobs, an OCI image layout, or an image in a registry.
    """
    options = load_options(no_cache=no_cache, jobs=jobs)
    return print_reports((report_of(typed, options) for typed in catalogs), len(catalogs), output)

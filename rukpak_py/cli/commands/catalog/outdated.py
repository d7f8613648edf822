"""`rukpakctl catalog outdated`."""

import sys

import click

from rukpak_py.cli.catalogs.flags import catalog_option, catalog_options, load_options
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.terminal import Exit, Style, epilog, print_json, print_lines


@click.command(
    epilog=epilog(
        no="there is something to do, with --exit-code", failed="a catalog cannot be read, or the cluster refused"
    )
)
@catalog_option
@click.option(
    "--channel",
    metavar="CHANNEL",
    help="In place of the default channel, for packages that have a channel of this name.",
)
@click.option(
    "--exit-code",
    is_flag=True,
    help="Exit with 1 for an upgrade, no upgrade path, a deprecation, and where the catalog has the package and lacks "
    "its channel or the bundle.",
)
@output_option("text", "json")
@catalog_options
def outdated(
    *, catalog: str, channel: str | None, exit_code: bool, output: str, no_cache: bool, jobs: int | None
) -> int:
    """Compare the OLM packages of a cluster with a catalog.

    NEXT is what an upgrade installs, one step along the edges of the upgrade graph; HEAD is the newest version of the
    channel. The channel is that of the annotation core.rukpak.io/catalog-channel, which `rukpakctl catalog install`
    sets, else the default channel of the package.

    This needs list on bundledeployments, and on bundleinstances where one owns a BundleDeployment.
    """
    from rukpak_py.cli.catalogs.resolving import packages_of  # noqa: PLC0415 - help and completion do not need it
    from rukpak_py.cli.cluster import outdated_packages  # noqa: PLC0415 - the same
    from rukpak_py.cli.cluster.session import with_client  # noqa: PLC0415 - the same
    from rukpak_py.cli.reports import outdated as report  # noqa: PLC0415 - the same

    packages = packages_of(catalog, load_options(no_cache=no_cache, jobs=jobs))
    found = with_client(outdated_packages.list_deployments)
    rows = outdated_packages.outdated(found, packages, channel)
    others = len(found) - len(rows)
    if output == "json":
        print_json(report.document(rows, others))
    else:
        print_lines(report.lines_of(rows, others, Style(sys.stdout)))
    return Exit.NO if exit_code and report.has_outdated(rows) else Exit.OK

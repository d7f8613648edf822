"""`rukpakctl catalog filter`."""

import click

from rukpak_py.cli.catalogs.flags import catalog_argument, jobs_option, load_options
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.terminal import epilog, print_warning


@click.command(
    short_help="Print a part of a catalog that is a valid catalog.",
    name="filter",
    epilog=epilog(failed="the catalog cannot be read, is not valid, or has nothing of what is wanted"),
)
@catalog_argument
@click.option("--package", "names", multiple=True, required=True, metavar="NAME", help="A package; may be repeated.")
@click.option(
    "--channel",
    "channels",
    multiple=True,
    metavar="PACKAGE/CHANNEL",
    help="Of this package only the channels that are named so; may be repeated.",
)
@click.option(
    "--versions",
    multiple=True,
    metavar="PACKAGE=RANGE",
    help='Of this package only versions in the range, such as "p=>=1.2.0"; one a package.',
)
@click.option("--with-dependencies", is_flag=True, help="Also packages that provide what the kept bundles require.")
@output_option("json", "yaml")
@jobs_option
def filter_command(
    *,
    catalog: str,
    names: tuple[str, ...],
    channels: tuple[str, ...],
    versions: tuple[str, ...],
    with_dependencies: bool,
    output: str,
    jobs: int | None,
) -> None:
    """Print a part of a catalog that is a valid catalog: packages, of them channels, of those versions.

    Upgrade graphs are repaired where entries were removed: an entry that is kept, and could be upgraded to a head,
    still can be. Every repair is named on standard error.
    """
    from rukpak_py.catalog.filtering import filter_catalog  # noqa: PLC0415 - help and completion do not need it
    from rukpak_py.cli.catalogs.answers import demand  # noqa: PLC0415 - the same
    from rukpak_py.cli.catalogs.filtering import note_text, wanted_packages  # noqa: PLC0415 - the same
    from rukpak_py.cli.catalogs.loading import load_valid  # noqa: PLC0415 - the same
    from rukpak_py.cli.catalogs.rendering import write_catalog  # noqa: PLC0415 - the same

    wanted = wanted_packages(names, channels, versions)
    loaded = load_valid(catalog, load_options(no_cache=True, jobs=jobs, is_slim=False))
    found = demand(filter_catalog(loaded.content.catalog, wanted, with_dependencies=with_dependencies))
    for note in found.notes:
        print_warning(note_text(note))
    write_catalog(found.catalog, as_yaml=output == "yaml")

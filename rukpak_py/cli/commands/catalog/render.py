"""`rukpakctl catalog render`."""

import click

from rukpak_py.cli.catalogs.flags import catalog_options, load_options
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.terminal import epilog, print_warning


@click.command(epilog=epilog(failed="a catalog or bundle cannot be read"))
@click.argument("references", nargs=-1, required=True, type=click.Path(), metavar="CATALOG|BUNDLE...")
@click.option("--migrate", is_flag=True, help="Replace the objects of bundles by the metadata of their CSV.")
@click.option(
    "--image-template",
    default="",
    metavar="TEMPLATE",
    help="Image of a bundle directory, with {{.Package}}, {{.Name}} and {{.Version}} in it.",
)
@output_option("json", "yaml")
@catalog_options
def render(
    *,
    references: tuple[str, ...],
    migrate: bool,
    image_template: str,
    output: str,
    no_cache: bool,
    jobs: int | None,
) -> None:
    """Print the blobs of catalogs and bundles as one catalog, sorted.

    A catalog or bundle is a directory, an OCI image layout, or an image in a registry; a catalog may be a file, too.
    The JSON is that of `opm render`, byte for byte. A catalog need not be valid. Fields that the schema of a blob does
    not have are left out, as are blobs that belong to no package: a warning on standard error names these.
    """
    from rukpak_py.cli.catalogs.rendering import RenderOptions  # noqa: PLC0415 - help and completion do not need it
    from rukpak_py.cli.catalogs.rendering import render as render_all  # noqa: PLC0415 - the same
    from rukpak_py.cli.catalogs.spool import Spool  # noqa: PLC0415 - the same

    options = RenderOptions(
        load=load_options(no_cache=no_cache, jobs=jobs, is_slim=False),
        as_yaml=output == "yaml",
        migrate=migrate,
        image_template=image_template,
    )
    with Spool() as spool:
        rendering = render_all(references, options, spool)
        rendering.write()
    for warning in rendering.warnings:
        print_warning(warning)

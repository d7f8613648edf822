"""`rukpakctl catalog template basic`."""

from typing import IO

import click

from rukpak_py.cli.catalogs.flags import load_options
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.terminal import epilog, print_warning

_epilog = epilog(failed="the template cannot be read, or a bundle cannot be pulled")


@click.group(epilog=_epilog)
def template() -> None:
    """Make a catalog of a template."""


@template.command(epilog=_epilog)
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--migrate", is_flag=True, help="Replace the objects of bundles by the metadata of their CSV.")
@click.option("--allow-directories", is_flag=True, help="Take the `image` of a bundle for a directory if it is one.")
@output_option("json", "yaml")
@click.option("--jobs", type=click.IntRange(min=1), help="How many bundles are pulled at once. Default: 4.")
def basic(*, file: IO[bytes], migrate: bool, allow_directories: bool, output: str, jobs: int | None) -> None:
    """Make a catalog of a template of schema `olm.template.basic`.

    In FILE (default: standard input) bundles have a schema and an image, nothing else; they are pulled, several at
    once, and rendered. All other blobs are kept.
    """
    from rukpak_py.cli.catalogs.rendering import RenderOptions, write_catalog  # noqa: PLC0415 - only to run it
    from rukpak_py.cli.catalogs.templates import rendered_template  # noqa: PLC0415 - the same

    options = RenderOptions(
        load=load_options(no_cache=True, jobs=jobs, is_slim=False), as_yaml=output == "yaml", migrate=migrate
    )
    catalog = rendered_template(file.read(), options, allow_directories=allow_directories)
    for lost in write_catalog(catalog, as_yaml=options.as_yaml):
        print_warning(lost)

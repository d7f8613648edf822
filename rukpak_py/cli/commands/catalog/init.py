"""`rukpakctl catalog init`."""

from typing import IO

import click

from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.terminal import epilog


@click.command(epilog=epilog(failed="the description or the icon cannot be read"))
@click.argument("package")
@click.option("-c", "--default-channel", default="", metavar="NAME", help="Its default channel.")
@click.option("-d", "--description", type=click.File("rb"), metavar="FILE", help="A file with its description.")
@click.option(
    "-i", "--icon", type=click.File("rb"), metavar="FILE", help="Its icon: SVG, PNG, JPEG, GIF, WebP, BMP, TIFF or ICO."
)
@output_option("json", "yaml")
def init(
    *, package: str, default_channel: str, description: IO[bytes] | None, icon: IO[bytes] | None, output: str
) -> None:
    """Print the `olm.package` blob of a new package."""
    from rukpak_py.catalog.making.package_blob import package_blob  # noqa: PLC0415 - the same
    from rukpak_py.catalog.model import Catalog  # noqa: PLC0415 - help and completion do not need it
    from rukpak_py.cli.catalogs.rendering import write_catalog  # noqa: PLC0415 - the same

    blob = package_blob(
        package,
        default_channel=default_channel,
        description=description.read() if description else b"",
        icon=icon.read() if icon else None,
    )
    if not package:
        raise click.UsageError("a package needs a name")
    write_catalog(Catalog(packages=(blob,)), as_yaml=output == "yaml")

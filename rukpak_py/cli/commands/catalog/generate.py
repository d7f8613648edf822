"""`rukpakctl catalog generate dockerfile`."""

from pathlib import Path

import click

from rukpak_py.catalog.making.dockerfile import DEFAULT_IMAGE, dockerfile, labels_of
from rukpak_py.cli.terminal import clean, epilog
from rukpak_py.core.errors import ContentError

_epilog = epilog(failed="there is no such directory, or the file is there already")


@click.group(epilog=_epilog)
def generate() -> None:
    """Write files that a catalog needs."""


@generate.command(name="dockerfile", short_help="Write a Dockerfile for the image of a catalog.", epilog=_epilog)
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "-i",
    "--base-image",
    default=DEFAULT_IMAGE,
    show_default=True,
    metavar="IMAGE",
    help="Image that serves the catalog.",
)
@click.option(
    "-b",
    "--builder-image",
    default=DEFAULT_IMAGE,
    show_default=True,
    metavar="IMAGE",
    help="Image that fills the cache.",
)
@click.option("-l", "--extra-labels", multiple=True, metavar="KEY=VALUE", help="Labels; may be repeated.")
def write_dockerfile(*, directory: Path, base_image: str, builder_image: str, extra_labels: tuple[str, ...]) -> None:
    """Write DIRECTORY.Dockerfile beside the directory of a catalog, for an image that OLM serves.

    `rukpakctl` reads a catalog from an image without `opm`: the label of the image says where in it the catalog is.
    """
    root = directory.resolve()
    if not root.is_dir():
        raise ContentError(f"{directory}: is not a directory")
    text = dockerfile(root.name, base_image=base_image, builder_image=builder_image, labels=labels_of(extra_labels))
    target = root.parent / f"{root.name}.Dockerfile"
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ContentError(f"{target}: is there already: remove it first") from None
    click.echo(clean(f"wrote {target}"))

"""`rukpakctl catalog images`."""

import click

from rukpak_py.catalog.checks.blob_checks import Checks
from rukpak_py.catalog.images import ImageReference, images_of
from rukpak_py.catalog.package_index import by_package
from rukpak_py.catalog.upgrades.choosing import find_package
from rukpak_py.cli.catalogs.answers import demand
from rukpak_py.cli.catalogs.flags import catalog_argument, catalog_options, load_options
from rukpak_py.cli.catalogs.loading import load_readable
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.terminal import clean, epilog, print_json, print_lines


@click.command(
    short_help="List the images that a catalog names.",
    epilog=epilog(failed="the catalog cannot be read, or has no such package"),
)
@catalog_argument
@click.option("--package", "names", multiple=True, metavar="NAME", help="Of this package only; may be repeated.")
@click.option("--unpinned", is_flag=True, help="Only references without a digest, which can change their image.")
@click.option("--bundle-images", is_flag=True, help="Only the images of bundles, not those that they relate to.")
@output_option("text", "json")
@catalog_options
def images(
    *,
    catalog: str,
    names: tuple[str, ...],
    unpinned: bool,
    bundle_images: bool,
    output: str,
    no_cache: bool,
    jobs: int | None,
) -> None:
    """List the images that a catalog names, one in a line, as a mirror takes them.

    These are the images of its bundles, and the images that bundles relate to. A reference with a tag and a digest is
    printed without the tag, because tools that copy images refuse both. JSON has it as it is, too, who uses each
    image, and whether it is pinned by a digest.
    """
    loaded = load_readable(catalog, load_options(no_cache=no_cache, jobs=jobs, checks=Checks.READING))
    packages = by_package(loaded.content.catalog)
    chosen = [demand(find_package(packages, name)).name for name in names]
    bundles = [one for one in loaded.content.catalog.bundles if not chosen or one.package in chosen]
    found = [
        one
        for one in images_of(bundles)
        if not (unpinned and one.is_pinned) and (not bundle_images or any(use.is_bundle_image for use in one.uses))
    ]
    if output == "json":
        print_json([_document(one) for one in found])
    else:
        print_lines(dict.fromkeys(clean(one.pull_spec) for one in found))


def _document(one: ImageReference) -> dict[str, object]:
    return {
        "image": one.image,
        "pullSpec": one.pull_spec,
        "pinned": one.is_pinned,
        "uses": [
            {
                "package": use.package,
                "bundle": use.bundle,
                "name": use.name or None,
                "bundleImage": use.is_bundle_image,
            }
            for use in one.uses
        ],
    }

"""`rukpakctl catalog graph`."""

import click

from rukpak_py.catalog.checks.blob_checks import Checks
from rukpak_py.cli.catalogs.answers import demand
from rukpak_py.cli.catalogs.flags import catalog_argument, catalog_options, load_options
from rukpak_py.cli.catalogs.loading import load_readable
from rukpak_py.cli.terminal import clean_text, epilog, print_warning
from rukpak_py.core.errors import ContentError


@click.command(
    short_help="Draw the upgrade graphs of a catalog.",
    epilog=epilog(failed="the catalog cannot be read, or the picture would be too large"),
)
@catalog_argument
@click.option("--package", metavar="NAME", help="Draw this package only.")
@click.option("--channel", "channels", multiple=True, metavar="NAME", help="Draw this channel only; may be repeated.")
@click.option(
    "--minimum-edge", default="", metavar="BUNDLE", help="Leave out what is older than this bundle, and other packages."
)
@click.option(
    "--v0/--no-v0",
    "draws_v0",
    default=True,
    show_default=True,
    help="Mark skipped bundles, and edges that OLM v0 does not follow because of a skip.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["mermaid", "dot", "svg"]),
    default="mermaid",
    show_default=True,
    help="What to print. SVG needs no other program.",
)
@catalog_options
def graph(
    *,
    catalog: str,
    package: str | None,
    channels: tuple[str, ...],
    minimum_edge: str,
    draws_v0: bool,
    output: str,
    no_cache: bool,
    jobs: int | None,
) -> None:
    """Draw the upgrade graphs of a catalog: who replaces and skips whom, where the heads are, what is deprecated.

    The catalog need not be valid: the picture is to show why it is not.
    """
    from rukpak_py.catalog.drawing import dot, graph_model, mermaid, svg  # noqa: PLC0415 - other commands do not draw
    from rukpak_py.catalog.package_index import by_package  # noqa: PLC0415 - the same
    from rukpak_py.catalog.upgrades.choosing import choose_channels, find_package  # noqa: PLC0415 - the same

    packages = by_package(
        load_readable(catalog, load_options(no_cache=no_cache, jobs=jobs, checks=Checks.READING)).content.catalog
    )
    if package is not None:
        demand(find_package(packages, package))
        demand(choose_channels(packages, package, channels))
    elif unknown := sorted(set(channels).difference(*(index.graphs for index in packages.values()))):
        raise ContentError(f"no package of the catalog has a channel {unknown[0]!r}")
    options = graph_model.DrawingOptions(
        package=package,
        channels=frozenset(channels),
        minimum_edge=minimum_edge,
        draw_v0_semantics=draws_v0,
    )
    try:
        drawing = graph_model.graph_drawing(packages, options)
        match output:
            case "dot":
                text = dot.dot(drawing)
            case "svg":
                text = svg.svg(drawing)
            case _:
                text = mermaid.mermaid(drawing)
                if warning := mermaid.beyond_viewer(drawing, text):
                    print_warning(warning)
    except ValueError as error:
        raise ContentError(str(error)) from error
    for one in drawing.warnings:
        print_warning(one.text)
    click.echo(clean_text(text), nl=False)

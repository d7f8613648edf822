"""`rukpakctl catalog`: file-based catalogs of OLM, without a cluster but for `install` and `outdated`."""

import click

from rukpak_py.cli.terminal import LazyGroup

_HERE = "rukpak_py.cli.commands.catalog"


@click.group(
    cls=LazyGroup,
    commands_at={
        "graph": f"{_HERE}.graph:graph",
        "images": f"{_HERE}.images:images",
        "lint": f"{_HERE}.lint:lint",
        "list": f"{_HERE}.list:listed",
        "query": f"{_HERE}.query:query",
        "install": f"{_HERE}.install:install",
        "outdated": f"{_HERE}.outdated:outdated",
        "resolve": f"{_HERE}.resolve:resolve",
        "validate": f"{_HERE}.validate:validate",
    },
)
def catalog() -> None:
    """Check, render, draw, compare and ask file-based catalogs of OLM.

    A catalog is a directory, a file of blobs, an OCI image layout, or an image in a registry.
    """

"""`rukpakctl catalog`: file-based catalogs of OLM, without a cluster but for `install` and `outdated`."""

import click

from rukpak_py.cli.terminal import LazyGroup

_HERE = "rukpak_py.cli.commands.catalog"


@click.group(
    cls=LazyGroup,
    commands_at={
        "diff": f"{_HERE}.diff:diff",
        "filter": f"{_HERE}.filter:filter_command",
        "fmt": f"{_HERE}.fmt:fmt",
        "generate": f"{_HERE}.generate:generate",
        "graph": f"{_HERE}.graph:graph",
        "images": f"{_HERE}.images:images",
        "init": f"{_HERE}.init:init",
        "install": f"{_HERE}.install:install",
        "lint": f"{_HERE}.lint:lint",
        "list": f"{_HERE}.list:listed",
        "outdated": f"{_HERE}.outdated:outdated",
        "query": f"{_HERE}.query:query",
        "render": f"{_HERE}.render:render",
        "resolve": f"{_HERE}.resolve:resolve",
        "template": f"{_HERE}.template:template",
        "validate": f"{_HERE}.validate:validate",
    },
)
def catalog() -> None:
    """Check, render, draw, compare and ask file-based catalogs of OLM.

    A catalog is a directory, a file of blobs, an OCI image layout, or an image in a registry.
    """

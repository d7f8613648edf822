"""`rukpakctl bundle`: everything that needs a bundle and no cluster."""

import click

from rukpak_py.cli.terminal import LazyGroup

_HERE = "rukpak_py.cli.commands"


@click.group(
    cls=LazyGroup,
    commands_at={
        "build": f"{_HERE}.build:build",
        "diff": f"{_HERE}.diff:diff",
        "generate": f"{_HERE}.generate:generate",
        "inspect": f"{_HERE}.inspect:inspect",
        "permissions": f"{_HERE}.permissions:permissions",
        "render": f"{_HERE}.render:render",
        "rule": f"{_HERE}.rule:rule",
        "validate": f"{_HERE}.validate:validate",
    },
)
def bundle() -> None:
    """Check, render, compare and build bundles.

    A bundle is a directory, a tar archive of one (.tar, .tgz), an OCI image layout, or an image in a registry.
    """

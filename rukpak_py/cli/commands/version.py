"""`rukpakctl version`."""

import platform

import click

import rukpak_py
from rukpak_py.cli.terminal import epilog


@click.command(epilog=epilog())
def version() -> None:
    """Print the version."""
    click.echo(text())


def text() -> str:
    return f"rukpakctl {rukpak_py.__version__} (Python {platform.python_version()})"

"""`rukpakctl version`."""

import platform

import click

import rukpak_py


@click.command()
def version() -> None:
    """Print the version."""
    click.echo(f"rukpakctl {rukpak_py.__version__} (Python {platform.python_version()})")

"""Options that `generate` and `build` share."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def generating_options(command: F) -> F:
    """Adds them; the command takes them as `**chosen` and makes a Request of them."""
    directory = click.Path(path_type=Path)
    options: Sequence[Callable[[F], F]] = (
        click.option(
            "-d", "--directory", type=directory, required=True, metavar="DIR", help="The directory of the manifests."
        ),
        click.option("-p", "--package", default="", help="Name of the package. Default: from the package manifest."),
        click.option("-c", "--channels", default="", help="Channels, separated by commas. Default: as for --package."),
        click.option("-e", "--default", "default_channel", default="", help="The default channel."),
        click.option(
            "-u",
            "--output-dir",
            "output_directory",
            type=directory,
            metavar="DIR",
            help="Copy the manifests to DIR/manifests, and write DIR/metadata. "
            "Default: metadata beside the directory of the manifests.",
        ),
        click.option(
            "--base-image", default="scratch", show_default=True, help="What the Dockerfile starts from (FROM)."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command

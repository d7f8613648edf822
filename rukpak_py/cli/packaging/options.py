"""Arguments of `generate` and `build`: the options that they share, and the directory, which must hold manifests.

That of a whole bundle in its place is a common mistake.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.formats.manifests import MANIFESTS
from rukpak_py.formats.registry_v1.packaging.media_type import CHART, first_document

_DOCUMENTS = {".yaml", ".yml", ".json"}

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class PackagingOptions:
    """The options, as they were given; empty is not given."""

    directory: Path
    package: str = ""
    channels: str = ""
    default_channel: str = ""
    output_directory: Path | None = None
    base_image: str = "scratch"
    overwrite: bool = True


def generating_options(command: F) -> F:
    """Adds them; the command takes them as `**chosen` and makes PackagingOptions of them."""
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


def check_holds_manifests(directory: Path) -> None:
    """One with manifests/ in it, and no manifest of its own, does not. Charts have directories as they like."""
    manifests = directory / MANIFESTS
    if manifests.is_dir() and not (directory / CHART).exists() and not any(map(_is_manifest, directory.iterdir())):
        given = directory.as_posix()
        raise ContentError(
            f"{given} is the directory of a bundle: give the one of its manifests, -d {manifests.as_posix()}"
        )


def _is_manifest(file: Path) -> bool:
    if (
        file.suffix not in _DOCUMENTS
        or not file.is_file()
        or file.stat().st_size > Limits.from_environment().yaml_bytes
    ):
        return False
    document = first_document(file.read_bytes())
    return isinstance(document, dict) and bool(document.get("apiVersion")) and bool(document.get("kind"))

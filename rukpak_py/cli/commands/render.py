"""`rukpakctl bundle render`."""

from typing import Any

import click

from rukpak_py.cli.options import choice, output_option, path_argument, rendering_options
from rukpak_py.cli.printing import print_list, print_yaml


@click.command()
@path_argument
@rendering_options
@click.option("--parity", is_flag=True, help="Exactly what OLM's own renderer makes, its flaws included.")
@output_option("yaml", "json")
def render(*, path: str, output: str, parity: bool, **chosen: Any) -> None:
    """Print the objects that installing a bundle applies."""
    objects = choice(chosen).rendered(path, parity=parity).objects
    if output == "json":
        print_list(objects)
    else:
        print_yaml(objects)

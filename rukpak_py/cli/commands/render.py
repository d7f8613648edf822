"""`rukpakctl bundle render`."""

from typing import Any

import click

from rukpak_py.cli.render_flags import output_option, path_argument, render_flags_of, rendering_options
from rukpak_py.cli.terminal import epilog, print_list, print_warning, print_yaml, warn_of_nothing
from rukpak_py.formats.detection import FormatName


@click.command(epilog=epilog(failed="the bundle cannot be read or rendered"))
@path_argument
@rendering_options
@click.option("--no-hooks", is_flag=True, help="Charts: leave hooks out.")
@click.option("--parity", is_flag=True, help="Exactly what OLM's own renderer makes, its flaws included.")
@output_option("yaml", "json")
def render(*, path: str, output: str, parity: bool, no_hooks: bool, **chosen: Any) -> None:
    """Print the objects that installing a bundle applies.

    A warning on standard error names what is left out, added or merged. Of a chart: what is in crds/, then all other
    objects, then its hooks.
    """
    if parity and chosen["aggregated_roles"]:
        raise click.UsageError(
            "OLM's own renderer makes no aggregated roles: leave out --parity or --aggregated-roles."
        )
    how = render_flags_of(chosen)
    opened = how.opened(path, parity=parity)
    rendering = how.render(opened)
    objects = rendering.objects if no_hooks else rendering.all
    for warning in [] if parity else [*opened.warnings(), *rendering.left_out]:
        print_warning(str(warning))
    if parity or opened.format is not FormatName.REGISTRY:  # a finding tells
        warn_of_nothing(objects, path)
    if output == "json":
        print_list(objects)
    else:
        print_yaml(objects)

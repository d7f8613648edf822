"""`rukpakctl bundle render`."""

from typing import IO, Any

import click

from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.render_flags import path_argument, read_patches, render_flags_of, rendering_options
from rukpak_py.cli.terminal import epilog, print_list, print_warning, print_yaml, warn_of_nothing
from rukpak_py.formats.detection import FormatName


@click.command(epilog=epilog(failed="the bundle cannot be read or rendered"))
@path_argument
@rendering_options
@click.option("--no-hooks", is_flag=True, help="Charts: leave hooks out.")
@click.option(
    "--patches",
    type=click.File("rb"),
    metavar="FILE",
    help="Patches as in spec.patches of a BundleDeployment, in YAML or JSON; - is standard input.",
)
@click.option("--parity", is_flag=True, help="Exactly what OLM's own renderer makes, its flaws included.")
@output_option("yaml", "json")
def render(*, path: str, output: str, parity: bool, no_hooks: bool, patches: IO[bytes] | None, **chosen: Any) -> None:
    """Print the objects that installing a bundle applies.

    A warning on standard error names what is left out, added or merged, and patches that match nothing. Of a chart:
    what is in crds/, then all other objects, then its hooks.
    """
    if parity and chosen["aggregated_roles"]:
        raise click.UsageError(
            "OLM's own renderer makes no aggregated roles: leave out --parity or --aggregated-roles."
        )
    if parity and patches is not None:
        raise click.UsageError("OLM's own renderer knows no patches: leave out --parity or --patches.")
    how = render_flags_of(chosen)
    found = read_patches(patches.read()) if patches is not None else ()
    opened = how.opened(path, parity=parity)
    rendering = how.render(opened, found)
    objects = rendering.objects if no_hooks else rendering.all
    for warning in [] if parity else [*opened.warnings(), *rendering.left_out]:
        print_warning(str(warning))
    for number in rendering.unmatched:
        print_warning(f"spec.patches[{number}] matches no object of the bundle")
    if parity or opened.format is not FormatName.REGISTRY:  # a finding tells
        warn_of_nothing(objects, path)
    if output == "json":
        print_list(objects)
    else:
        print_yaml(objects)

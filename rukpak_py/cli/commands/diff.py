"""`rukpakctl bundle diff`."""

import sys
from typing import Any

import click

from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.render_flags import RenderFlags, render_flags_of, rendering_options
from rukpak_py.cli.reports import comparison, comparison_github, comparison_markdown
from rukpak_py.cli.terminal import Exit, Style, epilog, print_json, print_lines, print_warning, warn_of_nothing
from rukpak_py.formats.detection import FormatName
from rukpak_py.library import OpenedBundle, Rendering
from rukpak_py.library.diffs.bundles import compared
from rukpak_py.library.diffs.documents import document

_PIPED = 160  # columns where the output is no terminal: pages of pull requests and logs do not wrap


@click.command(epilog=epilog(no="differences, with --exit-code", failed="a bundle cannot be read or rendered"))
@click.argument("old", type=click.Path())
@click.argument("new", type=click.Path())
@rendering_options
@click.option("--exit-code", is_flag=True, help="Exit with 1 when there is a difference.")
@click.option(
    "--all",
    "show_all",
    is_flag=True,
    help="Show and count descriptions in CRDs and annotations that pods have from the CSV, too.",
)
@output_option("text", "markdown", "github", "json")
def diff(*, old: str, new: str, output: str, exit_code: bool, show_all: bool, **chosen: Any) -> int:
    """Compare what two bundles install and allow.

    Starts with a summary of OLM bundles: names, versions, channels, install modes, APIs and annotations. Then shows
    permissions gained and lost, what changed CRDs may do to their instances, and objects that are added, removed and
    changed, field by field. Both bundles are rendered with the same options. The content of Secrets is not shown, only
    that it changed. Warnings on standard error name what is left out, added or merged when they are rendered.
    """
    how = render_flags_of(chosen)
    before, after = how.opened(old), how.opened(new)
    found = compared(
        (before, _rendered(old, before, how)), (after, _rendered(new, after, how)), counts_descriptions=show_all
    )
    if output == "json":
        print_json(document(found))
    elif output == "markdown":
        print_lines(comparison_markdown.lines_of(found))
    elif output == "github":
        print_lines(comparison_github.lines_of(found, new))
    else:
        print_lines(comparison.lines_of(found, Style(sys.stdout, piped=_PIPED)))
    return Exit.NO if exit_code and not found.is_empty else Exit.OK


def _rendered(path: str, opened: OpenedBundle, how: RenderFlags) -> Rendering:
    rendering = how.render(opened)
    for warning in [*opened.warnings(), *rendering.left_out]:
        print_warning(f"{path}: {warning}")
    if opened.format is not FormatName.REGISTRY:  # a finding tells
        warn_of_nothing(rendering.all, path)
    return rendering

"""`rukpakctl bundle inspect`."""

import sys
from typing import Any

import click

from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.render_flags import (
    chart_options,
    chart_options_of,
    demand_chart,
    format_option,
    path_argument,
)
from rukpak_py.cli.reports import inspection as report
from rukpak_py.cli.terminal import Style, epilog, print_json, print_lines, print_warning
from rukpak_py.core.limits import Limits
from rukpak_py.formats.detection import FormatName
from rukpak_py.library import inspection, open_bundle


@click.command(epilog=epilog(failed="the bundle cannot be read"))
@path_argument
@format_option()
@chart_options
@output_option("text", "json")
def inspect(*, path: str, format_name: str | None, output: str, **chosen: Any) -> None:
    """Show the names, APIs, images and size of a bundle.

    Also its versions, install modes, webhooks, dependencies and digest. For a chart: of what it renders with the given
    values.
    """
    chart = chart_options_of(chosen)
    opened = open_bundle(path, format=format_name, limits=Limits.from_environment(), registries=True)
    demand_chart(opened.format)
    if opened.format is FormatName.REGISTRY and opened.reading.defects:
        print_warning(f"the bundle has defects; `rukpakctl bundle validate` lists them: {path}")
    found = inspection.description(opened, chart)
    if output == "json":
        print_json(found)
    else:
        print_lines(report.lines_of(found, Style(sys.stdout)))

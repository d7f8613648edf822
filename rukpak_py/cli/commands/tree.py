"""`rukpakctl tree`."""

import sys
from functools import partial

import click

from rukpak_py.cli.object_names import deployment_argument
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.screen import watch_option
from rukpak_py.cli.terminal import Exit, Style, epilog, print_json, print_lines


@click.command(epilog=epilog(failed="there is no such BundleDeployment, or the cluster refused"))
@deployment_argument()
@click.option("--all", "everything", is_flag=True, help="List every healthy object, too.")
@watch_option()
@output_option("text", "json")
def tree(*, name: str, everything: bool, watches: bool, output: str) -> int:
    """Show a BundleDeployment as a tree: its Bundles, its objects and their health.

    Healthy objects of a kind are one line. A workload that is not healthy is shown with its pods, and the claims that
    these wait for.

    All requests have your own rights, and what you may not list is a line of its own. Content of Secrets is never
    read: metadata is enough.
    """
    from rukpak_py.cli.cluster.session import with_client  # noqa: PLC0415 - other commands must not pay for it
    from rukpak_py.cli.cluster.views import view_of  # noqa: PLC0415 - the same
    from rukpak_py.cli.cluster.watching import show_views  # noqa: PLC0415 - the same
    from rukpak_py.cli.reports import tree as report  # noqa: PLC0415 - the same

    style = Style(sys.stdout)
    lines_of = partial(report.lines_of, style=style, everything=everything)
    if watches:
        if output == "json":
            raise click.UsageError("--watch is for people: leave out -o json")
        with_client(partial(show_views, name=name, lines_of=lines_of, document=report.document))
        return Exit.OK
    view = with_client(partial(view_of, name=name))
    if output == "json":
        print_json(report.document(view))
    else:
        print_lines(lines_of(view))
    return Exit.OK

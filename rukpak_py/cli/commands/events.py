"""`rukpakctl events`."""

import sys
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING

import click

from rukpak_py.cli.object_names import deployment_argument
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.screen import watch_option
from rukpak_py.cli.terminal import Exit, Style, epilog, print_json, print_lines, print_warning

if TYPE_CHECKING:
    from rukpak_py.diagnosis.model import EventView
    from rukpak_py.kube.client import Client


@click.command(epilog=epilog(failed="there is no such BundleDeployment, or the cluster refused"))
@deployment_argument()
@watch_option("Go on, and print new ones, until Ctrl-C.")
@output_option("text", "json")
def events(*, name: str, watches: bool, output: str) -> int:
    """List the Events of a BundleDeployment, its Bundles, and its objects that are not healthy; the newest last.

    All requests have your own rights: they need list on events, in the namespace default and those of the objects.
    """
    from rukpak_py.cli.cluster.session import with_client  # noqa: PLC0415 - other commands must not pay for it
    from rukpak_py.cli.cluster.views import view_of  # noqa: PLC0415 - the same
    from rukpak_py.cli.reports import events as report  # noqa: PLC0415 - the same

    style = Style(sys.stdout)
    if watches:
        if output == "json":
            raise click.UsageError("--watch is for people: leave out -o json")
        with_client(partial(_watch, name=name, style=style))
        return Exit.OK
    view = with_client(partial(view_of, name=name))
    found = view.events[::-1]
    if output == "json":
        print_json({"events": [report.event_document(one) for one in found]})
        return Exit.OK
    for one in view.unread:
        print_warning(f"not read: {one.part}: {one.why}")
    if found:
        print_lines(report.lines_of(found, style))
    else:
        click.echo("no Events: the API server keeps them for an hour, unless it is set otherwise", err=True)
    return Exit.OK


async def _watch(client: "Client", *, name: str, style: Style) -> None:
    """Print each Event once, and again when it has happened again."""
    from rukpak_py.cli.cluster.views import views_of  # noqa: PLC0415 - see above
    from rukpak_py.cli.reports import events as report  # noqa: PLC0415 - the same

    printed, has_titles = set["EventView"](), False
    async with aclosing(views_of(client, name)) as views:
        async for view in views:
            news = [one for one in view.events[::-1] if one not in printed]
            if news:
                titles, *lines = report.lines_of(news, style)
                print_lines(lines if has_titles else [titles, *lines])
                sys.stdout.flush()
                has_titles = True
            printed = set(view.events)

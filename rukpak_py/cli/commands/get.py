"""`rukpakctl get`."""

import sys
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING

import click

from rukpak_py.cli.object_names import deployment_argument
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.screen import watch_option
from rukpak_py.cli.terminal import Exit, Style, clean, epilog, print_error, print_json, print_lines, print_yaml
from rukpak_py.diagnosis.states import State

if TYPE_CHECKING:
    from rukpak_py.cli.reports.changing_rows import Show
    from rukpak_py.kube.client import Client


def _word(state: State) -> str:
    """Without blanks, which shells split."""
    return state.value.replace(" ", "-")


@click.command(epilog=epilog(failed="there is no BundleDeployment of a given name, or the cluster refused"))
@deployment_argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--namespace", "-n", default="", metavar="NAMESPACE", help="Only those that install into it.")
@click.option("--class", "class_name", default="", metavar="CLASS", help="Only those of this provisioner class.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice([_word(state) for state in State]),
    help="Only those in this state; can be repeated.",
)
@click.option("--not-ready", is_flag=True, help="Only those that are neither ready nor suspended.")
@watch_option()
@output_option("text", "wide", "json", "yaml")
def get(
    *,
    names: tuple[str, ...],
    namespace: str,
    class_name: str,
    states: tuple[str, ...],
    not_ready: bool,
    watches: bool,
    output: str,
) -> int:
    """List BundleDeployments: state, version, source, age, the upgrade that waits, and the message.

    Give names to list only these. -o wide adds class, namespace, account and the source itself.

    With --watch a terminal shows the list as it is now; elsewhere each change is a line, and with -o json an object.

    This needs list on bundledeployments; with names, get; with --watch, list and watch. For names, rights to these
    objects alone are enough.
    """
    from rukpak_py.cli.cluster.overview import read_rows  # noqa: PLC0415 - other commands must not pay for it
    from rukpak_py.cli.cluster.session import with_client  # noqa: PLC0415 - the same
    from rukpak_py.cli.reports import deployments as report  # noqa: PLC0415 - the same
    from rukpak_py.cli.reports.changing_rows import ChangingRows  # noqa: PLC0415 - the same
    from rukpak_py.diagnosis.verdicts import selected  # noqa: PLC0415 - the same

    if not_ready and states:
        raise click.UsageError("--not-ready and --state exclude each other")
    wanted = [one for one in State if _word(one) in states] or (
        [one for one in State if not one.is_at_rest] if not_ready else []
    )
    choose = partial(selected, namespace=namespace, class_name=class_name, states=wanted)
    if watches:
        if output == "yaml":
            raise click.UsageError("--watch has no output yaml: use json")
        with_client(partial(_watch, names=names, show=ChangingRows(choose, output=output).show))
        return Exit.OK
    rows, absent = with_client(partial(read_rows, names=names))
    rows = choose(rows)
    match output:
        case "json":
            print_json(report.document(rows))
        case "yaml":
            print_yaml([report.document(rows)])
        case _:
            print_lines(report.lines_of(rows, Style(sys.stdout), wide=output == "wide"))
            click.echo(report.summary_line(rows))
    for name in absent:
        print_error(clean(f"there is no BundleDeployment {name}"))
    return Exit.FAILED if absent else Exit.OK


async def _watch(client: "Client", *, names: tuple[str, ...], show: "Show") -> None:
    from rukpak_py.cli.cluster.overview import rows_of  # noqa: PLC0415 - see above

    async with aclosing(rows_of(client, names)) as changes:
        async for rows, changed in changes:
            show(rows, changed)

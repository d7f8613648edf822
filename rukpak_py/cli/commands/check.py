"""`rukpakctl check`."""

import sys

import click

from rukpak_py.api.accounts import Mode
from rukpak_py.api.names import DEFAULT_SYSTEM_NAMESPACE
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.terminal import Exit, Style, epilog, print_json, print_lines


@click.command(epilog=epilog(no="something is wrong", failed="the cluster cannot be asked"))
@click.option("--pre", "before", is_flag=True, help="Check whether the operator can be installed, whatever is there.")
@click.option(
    "--namespace",
    "--system-namespace",
    "namespace",
    default=DEFAULT_SYSTEM_NAMESPACE,
    show_default=True,
    metavar="NAMESPACE",
    help="The operator's namespace.",
)
@click.option(
    "--mode",
    type=click.Choice([mode.value for mode in Mode]),
    default=Mode.CLASSIC.value,
    show_default=True,
    help="Mode of an installation that is to come. One that is there says its own.",
)
@click.option("--strict", is_flag=True, help="Treat warnings as errors, and so what could not be read.")
@output_option("text", "json")
def check(*, before: bool, namespace: str, mode: str, strict: bool, output: str) -> int:
    """Check an installation of the operator: what is wrong, and what to do.

    Where no operator is installed: whether it can be. All requests have your own rights. What you may not read is a
    warning, and nothing is said about it.
    """
    from rukpak_py.cli.checks import check as checks  # noqa: PLC0415 - other commands must not pay for it
    from rukpak_py.cli.checks.results import Level  # noqa: PLC0415 - the same
    from rukpak_py.cli.cluster.session import with_client  # noqa: PLC0415 - the same
    from rukpak_py.cli.reports import check as report  # noqa: PLC0415 - the same

    results = with_client(
        lambda client: checks.check(client, system_namespace=namespace, mode=Mode(mode), before=before)
    )
    if output == "json":
        print_json(report.document(results))
    else:
        print_lines(report.lines_of(results, Style(sys.stdout)))
    refusing = {Level.ERROR, Level.WARNING} if strict else {Level.ERROR}
    return Exit.NO if any(one.level in refusing for one in results) else Exit.OK

"""`rukpakctl plan`."""

import sys
from functools import partial

import click

from rukpak_py.cli.cluster.session import OperatorAt, operator_options
from rukpak_py.cli.object_names import deployment_argument
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.terminal import Exit, Style, epilog, print_json, print_lines


@click.command(
    epilog=epilog(
        no="there is something to do, with --exit-code",
        failed="there is no such BundleDeployment, or its content is not rendered yet",
    )
)
@deployment_argument()
@operator_options("--namespace", "--system-namespace")
@click.option("--exit-code", is_flag=True, help="Exit with 1 when there is something to do.")
@output_option("text", "json", "markdown")
def plan(*, name: str, exit_code: bool, output: str, **where: str) -> int:
    """Show what the operator will do for what a BundleDeployment asks for.

    That is all of the plan of an upgrade: objects and their fields, images, rights gained and lost, verdicts on
    CustomResourceDefinitions, hooks that run, and what going back does not undo. The operator says so, from the content
    that it will apply, whether the upgrade waits, is refused by a check, or goes on by itself: for users who may get
    the BundleDeployment, and impersonate its account. Values of Secrets are digests.

    With -o markdown: for a pull request.
    """
    from rukpak_py.cli.cluster.plans import planned_upgrade  # noqa: PLC0415 - other commands do not pay
    from rukpak_py.cli.cluster.session import with_cluster  # noqa: PLC0415 - the same
    from rukpak_py.cli.reports import plan as report  # noqa: PLC0415 - the same
    from rukpak_py.cli.reports import plan_markdown  # noqa: PLC0415 - the same
    from rukpak_py.diagnosis.planned import is_empty  # noqa: PLC0415 - the same

    found = with_cluster(OperatorAt(**where), partial(planned_upgrade, deployment=name))
    match output:
        case "json":
            print_json(report.document(found))
        case "markdown":
            print_lines(plan_markdown.lines_of(found))
        case _:
            print_lines(report.lines_of(found, Style(sys.stdout)))
    return Exit.NO if exit_code and not is_empty(found) else Exit.OK

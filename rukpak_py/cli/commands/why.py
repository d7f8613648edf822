"""`rukpakctl why`."""

import sys
from functools import partial

import click

from rukpak_py.cli.object_names import deployment_argument
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.screen import watch_option
from rukpak_py.cli.terminal import Exit, Style, epilog, print_json, print_lines
from rukpak_py.cli.troubleshooting_option import troubleshooting_option


@click.command(
    epilog=epilog(
        no="it is not ready, or any is not", failed="there is no such BundleDeployment, or the cluster refused"
    )
)
@deployment_argument(required=False)
@click.option("--log", "with_log", is_flag=True, help="Show the last lines of the container that failed.")
@watch_option()
@troubleshooting_option()
@output_option("text", "json")
def why(*, name: str | None, with_log: bool, watches: bool, troubleshooting: str, output: str) -> int:
    """Say why a BundleDeployment is not ready: the first failing thing, and the way out.

    The answer names the object that fails, what to do, and its last Events. With --log it has the end of the log of
    the container that failed, of its previous run where that has ended.

    Without NAME: a line for each BundleDeployment that is neither ready nor suspended.

    All requests have your own rights; --log needs get on pods/log.
    """
    from rukpak_py.cli.cluster.answering import (  # noqa: PLC0415 - other commands must not pay for it
        answer_about,
        answer_of,
        answers_about_all,
    )
    from rukpak_py.cli.cluster.session import with_client  # noqa: PLC0415 - the same
    from rukpak_py.cli.cluster.watching import show_views  # noqa: PLC0415 - the same
    from rukpak_py.cli.reports import why as report  # noqa: PLC0415 - the same

    style = Style(sys.stdout)
    if watches:
        if name is None or with_log or output == "json":
            raise click.UsageError("--watch needs NAME, and goes neither with --log nor with -o json")
        with_client(
            partial(
                show_views,
                name=name,
                lines_of=lambda view: list(report.lines_of(answer_of(view), style, page=troubleshooting)),
                document=lambda view: report.document(answer_of(view), page=troubleshooting),
            )
        )
        return Exit.OK
    if name is None:
        if with_log:
            raise click.UsageError("--log needs the NAME of a BundleDeployment")
        answers = with_client(answers_about_all)
        if output == "json":
            print_json({"deployments": [report.document(one, page=troubleshooting) for one in answers]})
        elif answers:
            print_lines(report.table(answers, style))
            click.echo("rukpakctl why NAME says more about one of them", err=True)
        else:
            click.echo("nothing is wrong with any BundleDeployment")
        return Exit.NO if answers else Exit.OK
    answer = with_client(partial(answer_about, name=name, with_log=with_log))
    if output == "json":
        print_json(report.document(answer, page=troubleshooting))
    else:
        print_lines(report.lines_of(answer, style, page=troubleshooting))
    return Exit.OK if answer.is_well else Exit.NO

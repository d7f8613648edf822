"""`rukpakctl history`."""

import sys
from functools import partial

import click

from rukpak_py.cli.object_names import deployment_argument
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.terminal import Exit, Style, clean, epilog, print_json, print_lines, print_warning


@click.command(epilog=epilog(failed="there is no such BundleDeployment, or the cluster refused"))
@deployment_argument()
@output_option("text", "json")
def history(*, name: str, output: str) -> int:
    """List the revisions of a BundleDeployment, the newest first.

    These are the last five installations. An upgrade that waits, or that status.upgrade says has begun, is listed as
    the next revision. To go back to one of them, use rukpakctl rollback.

    This needs get on bundledeployments.
    """
    from rukpak_py.cli.cluster.deployments import read_deployment  # noqa: PLC0415 - other commands must not pay for it
    from rukpak_py.cli.cluster.session import with_client  # noqa: PLC0415 - the same
    from rukpak_py.cli.reports import history as report  # noqa: PLC0415 - the same
    from rukpak_py.diagnosis.revisions import revisions_of  # noqa: PLC0415 - the same

    read = with_client(partial(read_deployment, name=name))
    revisions = revisions_of(read.deployment)
    if output == "json":
        print_json(report.document(read, revisions))
    elif revisions:
        print_lines(report.lines_of(revisions, Style(sys.stdout)))
    else:
        print_warning(clean(f"BundleDeployment {name} has no installation"))
    return Exit.OK

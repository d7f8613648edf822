"""`rukpakctl approve`."""

import sys
from functools import partial

import click

from rukpak_py.cli.object_names import deployment_argument
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.terminal import Exit, Style, clean, epilog, print_json, print_lines


@click.command(epilog=epilog(failed="no upgrade waits, its plan is another, or the cluster refused"))
@deployment_argument()
@click.option("--digest", default="", metavar="DIGEST", help="Approve this plan and no other; do not show it.")
@click.option("--now", is_flag=True, help="Begin at once, also outside the windows of spec.upgrades.")
@click.option("--withdraw", is_flag=True, help="Withdraw the approval.")
@output_option("text", "json")
def approve(*, name: str, digest: str, now: bool, withdraw: bool, output: str) -> int:
    """Approve the upgrade of a BundleDeployment that waits.

    Prints the short form of the plan, and approves the plan of that digest: one that changes meanwhile needs another
    approval. rukpakctl plan shows all of it. Where a BundleInstance owns the BundleDeployment, it is the one that is
    annotated.

    This needs get on bundledeployments, and patch and the verb approve. An approval of the BundleDeployment stays when
    the annotation is removed; --withdraw takes it back as long as the upgrade has not begun.
    """
    from rukpak_py.cli.cluster import approving  # noqa: PLC0415 - other commands must not pay for it
    from rukpak_py.cli.cluster.session import with_client  # noqa: PLC0415 - the same
    from rukpak_py.cli.reports import pending_upgrade as report  # noqa: PLC0415 - the same

    if withdraw and now:
        raise click.UsageError("--withdraw and --now exclude each other")
    found, pending = with_client(partial(approving.find_pending, name=name, digest=digest))
    if output == "text" and not digest and not withdraw:
        print_lines(report.lines_of(name, pending, Style(sys.stdout)))
    if withdraw:
        written = with_client(partial(approving.withdraw, name=name, digest=pending.digest))
    else:
        written = with_client(partial(approving.approve, name=name, digest=pending.digest, now=now))
    if output == "json":
        print_json(report.document(written, pending, approved=not withdraw, now=now))
        return Exit.OK
    how = "approval withdrawn" if withdraw else "approved"
    click.echo(clean(f"{found.reference} {how}: {pending.digest}"))
    return Exit.OK

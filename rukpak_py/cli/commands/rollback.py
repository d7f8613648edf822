"""`rukpakctl rollback`."""

from functools import partial

import click

from rukpak_py.cli.object_names import deployment_argument
from rukpak_py.cli.terminal import Exit, clean, epilog, print_lines, print_warning, print_yaml


@click.command(epilog=epilog(no="another client manages it", failed="it cannot be done, or the cluster refused"))
@deployment_argument()
@click.option("--to", "revision", type=click.IntRange(min=1), metavar="REVISION", help="Default: the one before.")
@click.option("--dry-run", is_flag=True, help="Print the change, and make none.")
@click.option("--force", is_flag=True, help="Also where another client manages what changes.")
def rollback(*, name: str, revision: int | None, dry_run: bool, force: bool) -> int:
    """Set a BundleDeployment back to a revision of its history.

    Changes its spec: the template, with its source as it was resolved then, and the options of the revision. The
    service account and spec.upgrades stay. Without --to it is the revision before; while an upgrade is under way or
    waits, it is the one that is installed. It first prints what is known not to be undone.

    The operator treats it like any upgrade, with all checks. Where Flux, Argo CD or another client owns what would
    change, it would be set again: the command prints the change for Git, and makes none without --force.

    This needs get and patch on bundledeployments, or on bundleinstances where one owns the BundleDeployment.
    """
    from rukpak_py.cli.cluster import rolling_back  # noqa: PLC0415 - other commands must not pay for it
    from rukpak_py.cli.cluster.irreversible import irreversible  # noqa: PLC0415 - the same
    from rukpak_py.cli.cluster.session import with_client  # noqa: PLC0415 - the same

    found = with_client(partial(rolling_back.find, name=name, revision=revision))
    lines = with_client(partial(irreversible, deployment=found.read.deployment, entry=found.entry))
    is_refused = bool(found.owners) and not force and not dry_run
    for owner in found.owners:
        print_warning(f"{found.read.title}: {owner}, and may set it again")
    if lines:
        click.echo("A rollback does not undo:", err=True)
        for line in lines:
            click.echo(f"  {clean(line)}", err=True)
    if is_refused or dry_run:
        print_yaml([found.manifest])
    if is_refused:
        click.echo("Nothing was changed. Make this change in Git, or use --force.", err=True)
        return Exit.NO
    if dry_run:
        return Exit.OK
    with_client(partial(rolling_back.roll_back, rollback=found))
    print_lines(
        [clean(f"{found.read.reference} set back to revision {found.entry.revision} (Bundle {found.entry.bundle})")]
    )
    return Exit.OK

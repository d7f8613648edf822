"""`rukpakctl release`."""

from typing import TYPE_CHECKING

import click

from rukpak_py.api.names import GROUP
from rukpak_py.cli.object_names import deployment_argument
from rukpak_py.cli.terminal import Exit, clean, epilog, print_lines, print_warning

if TYPE_CHECKING:
    from rukpak_py.cli.cluster.releasing import Released


@click.command(epilog=epilog(failed="it cannot be released, or the cluster refused"))
@deployment_argument()
@click.option("--delete", "deletes", is_flag=True, help="Delete it first, if it is not being deleted yet.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def release(*, name: str, deletes: bool, yes: bool) -> int:
    """Leave a BundleDeployment that is being deleted to the garbage collector.

    For a deletion that waits because the service account of the BundleDeployment, or a right of it, is gone. The
    garbage collector needs no account, and deletes in no order. Namespaces, CRDs, claims and volumes stay: the command
    prints how to delete them. It shows what becomes of each object, and asks first.
    """
    from rukpak_py.cli.cluster import releasing  # noqa: PLC0415 - other commands must not pay for it
    from rukpak_py.cli.cluster.session import with_client  # noqa: PLC0415 - the same

    found = with_client(lambda client: releasing.find(client, name, deletes=deletes))
    print_lines(_consequences(found))
    if found.unseen:
        kinds = ", ".join(found.unseen)
        print_warning(f"{kinds} cannot be listed everywhere: objects that are not shown are treated alike")
    if not yes:
        click.confirm(f"Release BundleDeployment {clean(name)}?", abort=True)
    with_client(lambda client: releasing.release(client, found.deployment))
    click.echo(f'bundledeployment.{GROUP} "{clean(name)}" released')
    if found.left:
        click.echo("To delete what is left, once nothing of others is in it:")
        print_lines(f"  {clean(one.command)}" for one in found.left)
    return Exit.OK


def _consequences(found: "Released") -> list[str]:
    taken = [f"  {clean(str(key))}" for key in found.taken]
    left = [f"  {clean(str(one.key))}" for one in found.left]
    return [
        *(["The garbage collector deletes, in no order:", *taken] if taken else []),
        *(["These stay in the cluster:", *left] if left else []),
        *([] if taken or left or found.unseen else ["The BundleDeployment has no objects."]),
    ]

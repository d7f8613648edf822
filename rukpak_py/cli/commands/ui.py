"""`rukpakctl ui`."""

from functools import partial

import click

from rukpak_py.cli.cluster.session import OperatorAt, operator_options
from rukpak_py.cli.terminal import Exit, epilog
from rukpak_py.cli.troubleshooting_option import troubleshooting_option


@click.command(epilog=epilog(failed="the page cannot be served"))
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="Port on 127.0.0.1; 0: any.")
@click.option("--open/--no-open", "opens", default=False, show_default=True, help="Open it in a browser.")
@troubleshooting_option()
@operator_options("--namespace", "--system-namespace")
def ui(*, port: int, opens: bool, troubleshooting: str, **where: str) -> int:
    """Show deployments on a page in the browser, until Ctrl-C.

    The page only reads, with the rights of your kubeconfig. It is served on 127.0.0.1, and its address has a secret:
    other users of the machine cannot open it. Keep the address to yourself while the command runs.
    """
    from rukpak_py.cli.cluster.page_server import serve  # noqa: PLC0415 - other commands do not pay
    from rukpak_py.cli.cluster.session import with_cluster  # noqa: PLC0415 - the same

    with_cluster(
        OperatorAt(**where), partial(serve, port=port, troubleshooting=troubleshooting, opens=opens, started=click.echo)
    )
    return Exit.OK

"""`rukpakctl wait`."""

from functools import partial

import click

from rukpak_py.cli.durations import timeout_option
from rukpak_py.cli.object_names import deployment_argument
from rukpak_py.cli.terminal import Exit, clean, epilog, print_error


@click.command(
    epilog=epilog(
        no="it was not reached in time, or cannot be",
        failed="there is no such BundleDeployment, or the cluster refused",
    )
)
@deployment_argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--for",
    "goal",
    type=click.Choice(["ready", "healthy", "deleted", "upgrade"]),
    default="ready",
    show_default=True,
    help="State to wait for.",
)
@timeout_option("How long to wait")
def wait(*, names: tuple[str, ...], goal: str, seconds: float) -> int:
    r"""Wait until BundleDeployments are ready, and print what becomes of them.

    \b
    ready    Ready is true for the present spec
    healthy  the objects of the installed content work
    deleted  it is gone
    upgrade  it is ready, and no upgrade waits

    It ends early where nothing happens by itself any more: when one is stalled, suspended or being deleted. Then, and
    when the time is up, it says why, as rukpakctl why does.

    This needs get, list and watch on bundledeployments and bundleinstances. Without watch it looks every two seconds.
    """
    from rukpak_py.cli.cluster import waiting  # noqa: PLC0415 - other commands must not pay for it
    from rukpak_py.cli.cluster.session import with_client  # noqa: PLC0415 - the same

    names = tuple(dict.fromkeys(names))
    tell = waiting.told_of(names, lambda line: click.echo(clean(line)))
    try:
        with_client(partial(waiting.wait_for_all, names=names, goal=waiting.Goal(goal), seconds=seconds, tell=tell))
    except waiting.WaitError as error:
        print_error(str(error))
        return Exit.NO
    return Exit.OK

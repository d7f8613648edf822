"""`rukpakctl run`."""

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from rukpak_py.api.names import GROUP, PLAIN_CLASS
from rukpak_py.cli.cluster.session import OperatorAt, operator_options
from rukpak_py.cli.object_names import deployment_argument
from rukpak_py.cli.terminal import Exit, Progress, StatusLine, clean, epilog, print_warning

if TYPE_CHECKING:
    from collections.abc import Callable

    from rukpak_py.cli.cluster.running import Run
    from rukpak_py.content.tree import Tree

WAIT_SECONDS = 300


@click.command(
    epilog=epilog(
        no="it did not become Ready (with --exit-code)",
        failed="the directory cannot be read, the cluster refused, or the operator cannot be reached",
    )
)
@deployment_argument()
@click.argument("directory", type=click.Path(path_type=Path))
@operator_options("--system-namespace")
@click.option(
    "--bundle-deployment-provisioner-class",
    "deployment_class",
    metavar="CLASS",
    help="Who installs the content. Default: detected when no class is given, else core-rukpak-io-plain.",
)
@click.option(
    "--bundle-provisioner-class",
    "bundle_class",
    metavar="CLASS",
    help="What the content is: who unpacks it. Default: likewise.",
)
@click.option(
    "--install-namespace",
    default="",
    metavar="NAMESPACE",
    help="Where objects go that name no namespace. Default: the operator's; an OLM bundle chooses its own.",
)
@click.option("--wait/--no-wait", "waits", default=True, help="Wait until it is Ready. Default: yes.")
@click.option(
    "--timeout",
    type=click.IntRange(min=0),
    default=WAIT_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait until it is Ready, and before that, at most 60, for its Bundle.",
)
@click.option("--exit-code", is_flag=True, help="Exit with 1 when it does not become Ready.")
@click.option(
    "--watch",
    "watches",
    is_flag=True,
    help="Upload again at each change of the directory, and show the state, until you press Ctrl-C.",
)
def run(
    *,
    name: str,
    directory: Path,
    deployment_class: str | None,
    bundle_class: str | None,
    install_namespace: str,
    waits: bool,
    timeout: int,
    exit_code: bool,
    watches: bool,
    **where: str,
) -> int:
    """Install the bundle of a directory.

    Creates or changes the BundleDeployment NAME and uploads the content to the operator, through a port-forward. Run
    it again after a change of the directory: without one, nothing happens.
    """
    from rukpak_py.cli.cluster import running  # noqa: PLC0415 - other commands must not pay for it
    from rukpak_py.cli.cluster.session import ClusterSession, with_cluster  # noqa: PLC0415 - the same

    if watches and (exit_code or not waits):
        raise click.UsageError("--watch waits until you press Ctrl-C: leave out --exit-code and --no-wait")

    def wanted_of(tree: "Tree") -> running.Run:
        default = PLAIN_CLASS if deployment_class or bundle_class else _detected_class(tree)
        return running.Run(
            deployment=name,
            tree=tree,
            deployment_class=deployment_class or default,
            bundle_class=bundle_class or default,
            install_namespace=install_namespace,
        )

    if watches:
        _watch(directory, wanted_of, OperatorAt(**where), timeout)
    wanted = wanted_of(running.read(directory))

    async def work(cluster: ClusterSession) -> running.RunVerdict | None:
        uploaded = await running.run(cluster, wanted, seconds=timeout, say=click.echo, progress=_Upload)
        if not waits:
            return None
        return await running.verdict(cluster.client, name, uploaded, seconds=timeout, tell=_print_progress)

    verdict = with_cluster(OperatorAt(**where), work)
    if verdict is None:
        return Exit.OK
    if verdict.is_ready:
        click.echo(f'bundledeployment.{GROUP} "{name}" is ready: {clean(verdict.text)}')
        return Exit.OK
    if verdict.is_pending:
        click.echo(f'bundledeployment.{GROUP} "{name}" is not upgraded yet: {clean(verdict.text)}')
    else:
        print_warning(f"BundleDeployment {name} is not ready: {verdict.text}")
    return Exit.NO if exit_code else Exit.OK


def _watch(directory: Path, wanted_of: "Callable[[Tree], Run]", operator: OperatorAt, seconds: int) -> NoReturn:
    from rukpak_py.cli.cluster import run_watching, running  # noqa: PLC0415 - see run
    from rukpak_py.cli.cluster.session import ClusterSession, with_cluster  # noqa: PLC0415 - the same

    line = StatusLine()

    def say(text: str) -> None:
        line.end()
        click.echo(clean(text))

    def read() -> "Tree":
        return running.read(directory, ignored=run_watching.is_editor_file)

    async def work(cluster: ClusterSession) -> NoReturn:
        screen = run_watching.Screen(say=say, show=line.show, progress=_Upload)
        await run_watching.watch(cluster, read, wanted_of, seconds=seconds, screen=screen)

    try:
        with_cluster(operator, work)
    finally:
        line.end()
    raise AssertionError("it ends by an error or an interruption")


def _detected_class(tree: "Tree") -> str:
    from rukpak_py.cli.cluster.running import PLAIN, detected_class  # noqa: PLC0415 - see run
    from rukpak_py.core.limits import Limits  # noqa: PLC0415 - the same

    detected = detected_class(tree, Limits.from_environment())
    if detected != PLAIN:  # what the original takes needs no word
        click.echo(f"{detected.content}: using class {detected.name}", err=True)
    return detected.name


def _print_progress(message: str) -> None:
    click.echo(f"waiting: {clean(message)}", err=True)


class _Upload:
    """How much of the archive was sent, for a terminal."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._progress = Progress(100)

    def __call__(self, sent: int) -> None:
        if sent >= self._size:
            self._progress.clear()
        else:
            self._progress.show(100 * sent // self._size, "percent uploaded")

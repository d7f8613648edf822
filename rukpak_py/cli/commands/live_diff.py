"""`rukpakctl diff`."""

import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from rukpak_py.cli.cluster.session import ClusterSession, OperatorAt, operator_options
from rukpak_py.cli.object_names import deployment_argument
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.terminal import Exit, Style, epilog, print_json, print_lines

if TYPE_CHECKING:
    from rukpak_py.apply.upgrade_document import PlannedObject
    from rukpak_py.cli.cluster.wanted_content import GivenContent


@click.command(epilog=epilog(no="differences", failed="the content cannot be read or rendered, or the cluster refused"))
@deployment_argument()
@click.argument("path", required=False, type=click.Path())
@operator_options("--namespace", "--system-namespace")
@click.option("--helm", metavar="PROGRAM", help="Charts: the helm program. Default: $RUKPAK_HELM, else helm on PATH.")
@output_option("text", "json")
def diff(*, name: str, path: str | None, helm: str | None, output: str, **where: str) -> int:
    """Compare content with what a BundleDeployment has in the cluster.

    The content is a bundle: its directory, an archive, or an image. Without PATH it is what the template asks for now.
    It is rendered here with the options of the BundleDeployment, and sent to the API server as dry runs, all with your
    own rights; values that spec.config.valuesFrom refers to are read with them, too. Nothing is written. Values of
    Secrets are digests.

    As `kubectl diff`, the command exits with 1 when there are differences.
    """
    from rukpak_py.cli.cluster.session import with_cluster  # noqa: PLC0415 - other commands must not pay for it
    from rukpak_py.cli.reports import live_diff as report  # noqa: PLC0415 - the same

    given = _opened(path) if path is not None else None
    objects, hooks = with_cluster(
        OperatorAt(**where), partial(_compared, name=name, given=given, system_namespace=where["namespace"], helm=helm)
    )
    if output == "json":
        print_json(report.document(name, objects, hooks))
    else:
        print_lines(report.lines_of(objects, hooks, Style(sys.stdout)))
    return Exit.NO if objects else Exit.OK


def _opened(path: str) -> "GivenContent":
    from rukpak_py.cli.cluster.wanted_content import GivenContent  # noqa: PLC0415 - see above
    from rukpak_py.core.limits import Limits  # noqa: PLC0415 - see above
    from rukpak_py.sources.local import open_content  # noqa: PLC0415 - see above

    found = open_content(path, limits=Limits.from_environment(), registries=True)
    return GivenContent(tree=found.tree, is_directory=found.is_directory)


async def _compared(
    cluster: ClusterSession,
    *,
    name: str,
    given: "GivenContent | None",
    system_namespace: str,
    helm: str | None,
) -> "tuple[list[PlannedObject], int]":
    from rukpak_py.cli.cluster import live_diff  # noqa: PLC0415 - see above
    from rukpak_py.cli.cluster.deployments import read_deployment  # noqa: PLC0415 - see above

    deployment = (await read_deployment(cluster.client, name)).deployment
    content = given or await live_diff.content_of_template(cluster, deployment)
    return await live_diff.compare(cluster.client, deployment, content, system_namespace=system_namespace, helm=helm)

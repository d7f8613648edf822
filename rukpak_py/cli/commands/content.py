"""`rukpakctl content`."""

import sys
from pathlib import Path

import click

from rukpak_py.cli.cluster.session import OperatorAt, operator_options
from rukpak_py.cli.object_names import bundle_argument
from rukpak_py.cli.terminal import Exit, epilog, print_lines

STANDARD_OUTPUT = Path("-")


@click.command(epilog=epilog(failed="there is no content, or it cannot be read"))
@bundle_argument("bundle")
@operator_options("--namespace", "--system-namespace")
@click.option(
    "--download",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Write the archive (.tgz) there instead of listing it; - is standard output.",
)
def content(*, bundle: str, download: Path | None, **where: str) -> int:
    """List the files of a Bundle, or download them.

    The Bundle must be unpacked. Its content is read from the operator, through a port-forward.
    """
    from rukpak_py.cli.cluster import reading  # noqa: PLC0415 - other commands must not pay for it
    from rukpak_py.cli.cluster.session import with_cluster  # noqa: PLC0415 - the same

    at = OperatorAt(**where)
    if download is None:
        print_lines(with_cluster(at, lambda cluster: reading.listing(cluster, bundle)))
    elif download == STANDARD_OUTPUT:
        with_cluster(at, lambda cluster: reading.write(cluster, bundle, sys.stdout.buffer))
    else:
        size = with_cluster(at, lambda cluster: reading.save(cluster, bundle, download))
        click.echo(f"{download}: {size} bytes")
    return Exit.OK

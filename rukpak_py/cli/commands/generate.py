"""`rukpakctl bundle generate`."""

from typing import Any

import click

from rukpak_py.cli.exits import epilog
from rukpak_py.cli.packaging.generating import carry_out
from rukpak_py.cli.packaging.options import generating_options
from rukpak_py.cli.packaging.plan import Request, make_plan
from rukpak_py.cli.printing import print_lines


@click.command(epilog=epilog(failed="manifests cannot be read, or files not written"))
@generating_options
def generate(**chosen: Any) -> None:
    """Write the annotations and the Dockerfile of a bundle.

    metadata/annotations.yaml goes beside the manifests, bundle.Dockerfile into the working directory. Both are replaced
    when they are there.

    Without package or channels, a directory beside bundles of other versions is expected, with a package manifest.
    """
    print_lines(carry_out(make_plan(Request(**chosen))))

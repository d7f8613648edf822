"""`rukpakctl bundle generate`."""

from typing import Any

import click

from rukpak_py.cli.packaging.generating import carry_out
from rukpak_py.cli.packaging.plan import PackagingOptions, generating_options, make_plan
from rukpak_py.cli.terminal import epilog, print_lines


@click.command(epilog=epilog(failed="the manifests cannot be read, or the files cannot be written"))
@generating_options
def generate(**chosen: Any) -> None:
    """Write the annotations and the Dockerfile of a bundle.

    metadata/annotations.yaml goes beside the manifests, bundle.Dockerfile into the working directory. Existing
    files are replaced; annotations and labels of other tools are kept.

    Without --package or --channels they are read from the package manifest beside the bundle's directory, or else from
    the annotations that are there.
    """
    print_lines(carry_out(make_plan(PackagingOptions(**chosen))))

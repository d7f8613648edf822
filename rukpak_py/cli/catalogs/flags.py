"""Options that the commands about catalogs share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from rukpak_py.catalog.checks.blob_checks import Checks
from rukpak_py.cli.catalogs.loading import LoadOptions
from rukpak_py.core.limits import Limits

F = TypeVar("F", bound=Callable[..., Any])


catalog_option = click.option(
    "--catalog",
    type=click.Path(),
    required=True,
    metavar="CATALOG",
    help="A directory, a file of blobs, an OCI image layout, or an image in a registry.",
)
catalog_argument = click.argument("catalog", type=click.Path(), metavar="CATALOG")


jobs_option = click.option(
    "--jobs", type=click.IntRange(min=1), help="How many files are read at once. Default: one per CPU."
)


def catalog_options(command: F) -> F:
    """Add --jobs and --no-cache."""
    cache = click.option(
        "--no-cache", is_flag=True, help="Read every file anew. By default what was read is kept by its content."
    )
    return jobs_option(cache(command))


def load_options(
    *, no_cache: bool, jobs: int | None, is_slim: bool = True, checks: Checks = Checks.VALIDITY
) -> LoadOptions:
    return LoadOptions(
        limits=Limits.from_environment(), is_slim=is_slim, checks=checks, is_cached=not no_cache, jobs=jobs
    )

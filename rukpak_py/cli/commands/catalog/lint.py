"""`rukpakctl catalog lint`."""

import click

from rukpak_py.catalog.checks.blob_checks import Checks
from rukpak_py.catalog.checks.rules import CATALOG_FAMILIES
from rukpak_py.catalog.lint.rules import LINT_FAMILIES
from rukpak_py.cli.catalogs.flags import catalog_options, load_options
from rukpak_py.cli.catalogs.loading import report_of
from rukpak_py.cli.catalogs.reporting import check_rules, print_reports, without_rules
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.terminal import epilog


@click.command(
    short_help="Find mistakes in catalogs that are valid.",
    epilog=epilog(no="a catalog has errors, or warnings with --strict", failed="a catalog cannot be read"),
)
@click.argument("catalogs", nargs=-1, required=True, type=click.Path(), metavar="CATALOG...")
@click.option("--ignore", "ignored", multiple=True, metavar="RULE", help="Leave out a rule; may be repeated.")
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@output_option("text", "json", "sarif", "github")
@catalog_options
def lint(
    *,
    catalogs: tuple[str, ...],
    ignored: tuple[str, ...],
    strict: bool,
    output: str,
    no_cache: bool,
    jobs: int | None,
) -> int:
    """Check catalogs for what is valid and still a mistake, beside everything that `validate` checks.

    For example: ranges that mean something else than they seem to, edges that lead down or nowhere, dependencies that
    nothing in the catalog provides, images without a digest, icons of another type than they say.
    """
    check_rules(ignored)
    options = load_options(no_cache=no_cache, jobs=jobs, is_slim=False, checks=Checks.LINT)
    families = (*CATALOG_FAMILIES, *LINT_FAMILIES)
    found = (report_of(typed, options, families) for typed in catalogs)
    return print_reports((without_rules(report, ignored, is_strict=strict) for report in found), len(catalogs), output)

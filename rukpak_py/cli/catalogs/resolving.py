"""A valid catalog as packages, and the answer of a command to a question that the catalog has no answer to."""

from rukpak_py.catalog.package_index import PackageIndex, by_package
from rukpak_py.catalog.upgrades.refusal import Refusal
from rukpak_py.cli.catalogs.loading import LoadOptions, load_valid
from rukpak_py.cli.terminal import Exit, print_error, print_hint


def packages_of(typed: str, options: LoadOptions) -> dict[str, PackageIndex]:
    return by_package(load_valid(typed, options).content.catalog)


def print_refusal(refused: Refusal) -> int:
    """Print cause and remedy as an error; returns the exit status."""
    print_error(refused.message)
    print_hint(refused.remedy)
    return Exit.NO

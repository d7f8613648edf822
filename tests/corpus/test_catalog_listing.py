"""The rows of packages, channels and bundles are those that the reference tool lists for every valid catalog."""

import re
from pathlib import Path
from typing import Any

import pytest

from rukpak_py.catalog.listing import list_bundles, list_channels, list_packages
from rukpak_py.catalog.package_index import PackageIndex, by_package
from rukpak_py.catalog.upgrades.refusal import Refusal
from tests.corpus.catalogs import CATALOGS, REAL, SYNTHETIC, golden_cases, read_catalog
from tests.corpus.place import needs_corpus

pytestmark = needs_corpus
# These depend on what .indexignore files leave out, or hold documents that the reference tool drops.
NOT_ALL_FILES = {case["name"] for case in golden_cases() if "indexignore" in case["name"]}


def listings() -> list[tuple[str, list[str], str]]:
    return [
        (case["name"], run["args"], run["stdout"])
        for case in golden_cases()
        for run in case["runs"]
        if run["args"][:2] == ["alpha", "list"] and run["exit"] == 0 and case["name"] not in NOT_ALL_FILES
    ]


def place_of(name: str, reference: str) -> Path:
    if name == "real":
        return CATALOGS / reference
    return (REAL if (REAL / name).exists() else SYNTHETIC) / reference


def columns(stdout: str) -> list[list[str]]:
    """Cells of a printed table, without its header; the header says where columns begin."""
    header, *lines = stdout.split("\n")
    starts = [match.start() for match in re.finditer(r"\S+(?: \S+)*", header)]
    ends = [*starts[1:], None]
    return [[line[start:end].strip() for start, end in zip(starts, ends, strict=True)] for line in lines if line]


def rows(what: str, packages: dict[str, PackageIndex], package: str | None) -> list[list[str]]:
    found: Any = {"packages": list_packages, "channels": list_channels, "bundles": list_bundles}[what](
        packages, package
    )
    assert not isinstance(found, Refusal)
    match what:
        case "packages":
            return [[row.package, row.display_name, row.default_channel] for row in found]
        case "channels":
            return [[row.package, row.channel, row.head or f"ERROR: {row.problem}"] for row in found]
        case _:
            return [
                [row.package, row.channel, row.bundle, row.replaces, ",".join(row.skips), row.skip_range, row.image]
                for row in found
            ]


@pytest.mark.parametrize(("name", "arguments", "stdout"), listings(), ids=lambda value: "")
def test_rows_are_those_of_the_reference_tool(name: str, arguments: list[str], stdout: str) -> None:
    what, reference, *package = arguments[2:]
    found = rows(what, by_package(read_catalog(place_of(name, reference))), package[0] if package else None)
    expected = columns(stdout)
    if what == "packages":  # ours has display names from the metadata of CSVs, too
        found = [[row[0], row[1] if wanted[1] else "", row[2]] for row, wanted in zip(found, expected, strict=True)]
    assert found == expected


def test_display_names_come_from_metadata_too() -> None:
    found = list_packages(by_package(read_catalog(REAL)))
    assert not isinstance(found, Refusal)
    assert [row.package for row in found if not row.display_name] == []

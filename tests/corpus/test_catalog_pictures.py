"""Mermaid text of upgrade graphs beside that of `opm alpha render-graph`."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from rukpak_py.catalog.drawing.graph_model import DrawingOptions, graph_drawing
from rukpak_py.catalog.drawing.mermaid import beyond_viewer, mermaid
from rukpak_py.catalog.drawing.svg import svg
from rukpak_py.catalog.model import Catalog
from rukpak_py.catalog.package_index import PackageIndex, by_package
from rukpak_py.catalog.read_file import read_file
from tests.corpus.place import CORPUS

CATALOGS = CORPUS / "catalogs"
EXCEPTIONS = {
    "real --draw-v0-semantics": "links are numbered as they are printed",
    "s033-c03-package-name-3": "an identifier that begins with a hyphen",
    "s021-channel-names-odd": "a channel's name that Mermaid cannot read as an identifier",
    "s035-c04-channel-no-package": "an empty name is no identifier",
    "s036-c05-channel-no-name": "two hyphens are a link",
    "s037-c06-duplicate-channel": "the second of two equal channels is not drawn",
    "s038-c07-duplicate-entry": "the second of two equal entries is not drawn",
    "s075-d08-named-package": "a deprecation of a package that has a name is none",
    "s095-m16-empty-names": "an empty name is no identifier",
    "s096-m17-empty-skip": "an empty name is no identifier",
    "s097-m17-m18-both": "an empty name is no identifier",
    "s104-tree-many-findings": "an empty name is no identifier",
    "s170-silent-loss-empty-package-field": "an empty name is no identifier",
    "s171-duplicates-kept-by-render": "the second of two equal channels is not drawn",
}

pytestmark = pytest.mark.skipif(not CATALOGS.exists(), reason=f"the corpus of catalogs is not at {CATALOGS}")


def runs() -> Iterator[Any]:
    for file in sorted((CATALOGS / "goldens").glob("*.json")):
        if file.stem != "real" and not file.stem.startswith("synthetic-"):
            continue
        for case in json.loads(file.read_text()):
            folder = "real" if file.stem == "real" else "synthetic"
            for run in case["runs"]:
                if run["args"][:2] == ["alpha", "render-graph"] and not run["exit"]:
                    place = CATALOGS / folder / ("" if case["name"] == "real" else case["name"])
                    yield pytest.param(place, run, id=" ".join((case["name"], *run["args"][3:])))


def is_excepted(run: dict[str, Any]) -> bool:
    return run["args"][2] in EXCEPTIONS or " ".join(run["args"][2:]) in EXCEPTIONS


@cache
def packages(place: Path) -> dict[str, PackageIndex]:
    files = sorted(path for path in place.rglob("*") if path.is_file() and path.name != ".indexignore")
    read = (read_file(path.relative_to(place).as_posix(), path.read_bytes()) for path in files)
    return by_package(sum((content.catalog for content in read), Catalog()))


def options(args: list[str]) -> DrawingOptions:
    flags = dict(zip(args[3::2], args[4::2], strict=False))
    return DrawingOptions(
        package=flags.get("-p"),
        minimum_edge=flags.get("--minimum-edge", ""),
        draw_v0_semantics="--draw-v0-semantics" in args,
    )


@pytest.mark.parametrize(("place", "run"), [*runs()])
def test_mermaid_text_is_that_of_opm_apart_from_mended_defects(place: Path, run: dict[str, Any]) -> None:
    drawing = graph_drawing(packages(place), options(run["args"]))
    text = mermaid(drawing)
    assert (text != run["stdout"]) is is_excepted(run)


def test_each_real_package_is_drawn() -> None:
    for name, index in packages(CATALOGS / "real").items():
        drawing = graph_drawing({name: index}, DrawingOptions(draw_v0_semantics=True))
        assert drawing.warnings == ()
        assert beyond_viewer(drawing, mermaid(drawing)) is None
        ET.fromstring(svg(drawing))  # noqa: S314 - written by the test itself

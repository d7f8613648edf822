"""The catalogs of the corpus, read, and the lines that the reference tool printed for them."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from rukpak_py.catalog.model import Catalog
from rukpak_py.catalog.package_index import PackageIndex, by_package
from rukpak_py.catalog.read_file import read_file
from tests.corpus.place import CORPUS

CATALOGS = CORPUS / "catalogs"
REAL = CATALOGS / "real"
SYNTHETIC = CATALOGS / "synthetic"


@cache
def read_catalog(directory: Path) -> Catalog:
    """Every file that is not hidden; an .indexignore does not count."""
    files = sorted(path for path in directory.rglob("*") if path.is_file() and not path.name.startswith("."))
    contents = [read_file(str(path.relative_to(directory)), path.read_bytes()).catalog for path in files]
    return sum(contents, Catalog())


def real_packages() -> dict[str, PackageIndex]:
    return by_package(read_catalog(REAL)) if REAL.exists() else {}


def golden_cases() -> list[dict[str, Any]]:
    files = [*sorted((CATALOGS / "goldens").glob("synthetic-*.json")), CATALOGS / "goldens" / "real.json"]
    return [case for file in files if file.exists() for case in json.loads(file.read_text())]

"""Catalogs on disk, written as blobs; a cache and a width that are the same everywhere."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.catalog.samples import Json, stream

WriteCatalog = Callable[..., Path]


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def write_catalog(tmp_path: Path) -> WriteCatalog:
    """Write blobs to `catalog.json` of a directory, one on each line."""

    def write(blobs: list[Json], name: str = "c") -> Path:
        directory = tmp_path / name
        directory.mkdir()
        (directory / "catalog.json").write_bytes(stream(blobs))
        return directory

    return write

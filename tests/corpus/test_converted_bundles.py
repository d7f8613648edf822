"""Bundles that the original converted are converted; those it refused are refused in its words; real bundles only.

The synthetic ones differ where it accepted what cannot be installed, or refused what no cluster does.
"""

import gzip
import json
from pathlib import Path

import pytest

from rukpak_py.core.errors import ContentError
from rukpak_py.formats.format import RenderOptions
from rukpak_py.formats.registry_v1.converted import PREFIX, ConvertedFormat
from rukpak_py.sources.local import open_tree
from tests.corpus.place import BUNDLES, GOLDENS, needs_corpus

REAL = sorted(BUNDLES.glob("[0-9]*")) if BUNDLES.exists() else []
OURS_ALONE = ("Kind: NetworkPolicy", "Name: , Kind: ")  # kinds that came later, and documents without anything in them


def converts(folder: Path) -> str:
    """Empty, or why not."""
    try:
        ConvertedFormat().render(open_tree(folder), RenderOptions())
    except ContentError as error:
        return str(error)
    return ""


@needs_corpus
@pytest.mark.parametrize("folder", REAL, ids=lambda folder: str(folder.name))
def test_the_original_decides_the_same(folder: Path) -> None:
    golden = json.loads(gzip.decompress((GOLDENS / f"{folder.name}.r16.json.gz").read_bytes()))
    told = converts(folder)
    if golden["ok"]:
        assert told == ""
    elif not any(kind in golden["error"] for kind in OURS_ALONE):
        assert told.startswith(PREFIX)
        assert golden["error"] in told

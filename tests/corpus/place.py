"""Where the corpus of bundles and goldens is, which is no part of the repository."""

import os
from pathlib import Path

import pytest

CORPUS = Path(os.environ.get("RUKPAK_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))
BUNDLES = CORPUS / "bundles"
GOLDENS = CORPUS / "goldens"

needs_corpus = pytest.mark.skipif(
    not GOLDENS.exists(), reason=f"the corpus is not at {CORPUS}: set RUKPAK_CORPUS to its directory"
)

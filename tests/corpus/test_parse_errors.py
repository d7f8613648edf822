"""Every bundle that the reference renderer cannot parse is refused with its text, and every other one is read."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from rukpak_py.core.errors import ContentError
from rukpak_py.formats.registry_v1.read import read
from rukpak_py.sources.local import open_tree
from tests.corpus.place import CORPUS, needs_corpus

GOLDENS = sorted((CORPUS / "goldens").glob("*.suc.json.gz"))
pytestmark = needs_corpus

# Where our text is another one, and why.
OTHER_TEXTS: dict[str, str] = {}


def first_render(golden: Path) -> dict[str, Any]:
    with gzip.open(golden) as file:
        render: dict[str, Any] = json.load(file)["renders"][0]
    return render


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda golden: golden.name.removesuffix(".suc.json.gz"))
def test_what_cannot_be_parsed_is_refused_in_the_words_of_the_reference(golden: Path) -> None:
    name = golden.name.removesuffix(".suc.json.gz")
    expected = first_render(golden)
    reading = read(open_tree(CORPUS / "bundles" / name), parity=True)
    if expected["ok"] or expected["stage"] != "parse":
        assert reading.complete() is reading.bundle
        return
    with pytest.raises(ContentError) as caught:
        reading.complete()
    if name in OTHER_TEXTS:
        assert str(caught.value) != expected["error"], "the table of other texts is stale"
    else:
        assert str(caught.value) == expected["error"]


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda golden: golden.name.removesuffix(".suc.json.gz"))
def test_a_refusal_for_people_has_a_file_a_rule_and_a_hint(golden: Path) -> None:
    reading = read(open_tree(CORPUS / "bundles" / golden.name.removesuffix(".suc.json.gz")))
    for defect in reading.defects:
        finding = defect.finding
        assert finding.rule.startswith("RV1-9")
        assert finding.hint
        assert finding.file or "manifests/" in finding.message

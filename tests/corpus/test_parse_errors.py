"""Every bundle that the reference renderer cannot parse is refused with findings, and every other one is read."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from rukpak_py.core.findings import InvalidBundleError
from rukpak_py.formats.registry_v1.read import read
from rukpak_py.sources.local import open_tree
from tests.corpus.place import CORPUS, needs_corpus

GOLDENS = sorted((CORPUS / "goldens").glob("*.suc.json.gz"))
pytestmark = needs_corpus


def first_render(golden: Path) -> dict[str, Any]:
    with gzip.open(golden) as file:
        render: dict[str, Any] = json.load(file)["renders"][0]
    return render


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda golden: golden.name.removesuffix(".suc.json.gz"))
def test_bundle_that_the_reference_cannot_parse_is_refused(golden: Path) -> None:
    name = golden.name.removesuffix(".suc.json.gz")
    expected = first_render(golden)
    reading = read(open_tree(CORPUS / "bundles" / name), parity=True)
    if expected["ok"] or expected["stage"] != "parse":
        assert reading.complete() is reading.bundle
        return
    with pytest.raises(InvalidBundleError) as caught:
        reading.complete()
    assert caught.value.findings


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda golden: golden.name.removesuffix(".suc.json.gz"))
def test_a_refusal_for_people_has_a_file_a_rule_and_a_hint(golden: Path) -> None:
    reading = read(open_tree(CORPUS / "bundles" / golden.name.removesuffix(".suc.json.gz")))
    for defect in reading.defects:
        finding = defect.finding
        assert finding.rule.startswith("RV1-9")
        assert finding.hint
        assert finding.file or "manifests/" in finding.message

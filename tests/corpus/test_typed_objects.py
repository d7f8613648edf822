"""Definitions of the corpus, decoded and encoded as the reference renderer emits them."""

import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest

from rukpak_py.content import yaml
from rukpak_py.formats.go_types.restore import TypeDefect, restore
from tests.corpus.canonical_form import Json, digest
from tests.corpus.place import CORPUS, GOLDENS, needs_corpus

SUFFIX = ".suc.json.gz"
KIND = "CustomResourceDefinition"
pytestmark = needs_corpus


def names() -> list[str]:
    return sorted(path.name.removesuffix(SUFFIX) for path in GOLDENS.glob(f"*{SUFFIX}"))


def golden(name: str) -> Json:
    loaded: Json = json.loads(gzip.decompress((GOLDENS / f"{name}{SUFFIX}").read_bytes()))
    return loaded


def documents(name: str) -> Iterator[Any]:
    for path in sorted((CORPUS / "bundles" / name / "manifests").iterdir()):
        for document in yaml.load_all(path.read_bytes()):
            yield from document["items"] if document and document.get("kind", "").endswith("List") else [document]


def converted(documents: list[Any]) -> set[str]:
    """The definitions that get a conversion webhook, which are not emitted as they are."""
    csv = next(document for document in documents if document and document["kind"] == "ClusterServiceVersion")
    webhooks = csv["spec"].get("webhookdefinitions") or []
    return {crd for webhook in webhooks for crd in webhook.get("conversionCRDs") or []}


def definitions(objects: list[Any], *, without: set[str]) -> list[Json]:
    return [obj for obj in objects if obj and obj["kind"] == KIND and obj["metadata"]["name"] not in without]


def typed(document: Json) -> Json:
    defects: list[TypeDefect] = []
    restored: Json = restore(document, KIND, keep_unknown=False, defects=defects, unknown=[])
    assert defects == []
    return restored


@pytest.mark.parametrize("first", range(0, 600, 40))  # forty bundles in one test share the work between processes
def test_definitions_come_out_as_the_reference_renderer_emits_them(first: int) -> None:
    different = []
    for name in names()[first : first + 40]:
        wanted = golden(name)["renders"][0]
        if not wanted["ok"]:
            continue
        read = list(documents(name))
        without = converted(read)
        ours = list(map(typed, definitions(read, without=without)))
        if digest(ours) != digest(definitions(wanted["objects"], without=without)):
            different.append(name)
    assert different == []

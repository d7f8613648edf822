"""All 202 quantities of the reference renderer: the text it writes, or that it refuses."""

import json
from typing import Any

from rukpak_py.content.yaml_scalars import Raw, as_value
from rukpak_py.formats.go_types.quantity import canonical
from tests.corpus.place import CORPUS, needs_corpus

VECTORS = CORPUS / "quantity-vectors.json"
pytestmark = needs_corpus


def written(value: Raw) -> dict[str, str]:
    try:
        return {"output": canonical(as_value(value))}
    except ValueError:
        return {"error": "refused"}


def expected(vector: dict[str, Any]) -> dict[str, str]:
    return {"error": "refused"} if "error" in vector else {"output": vector["output"]}


def test_every_vector_comes_out_as_the_reference_renderer_writes_it() -> None:
    vectors: list[dict[str, Any]] = json.loads(VECTORS.read_text())["vectors"]
    assert len(vectors) == 202
    wrong = [vector for vector in vectors if written(vector["input"]) != expected(vector)]
    assert wrong == []

"""All 591 vectors of the Go library: values, streams, and what is refused, with its place."""

import base64
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rukpak_py.content import yaml
from rukpak_py.content.yaml_scalars import as_value, integral, without_surrogates
from rukpak_py.content.yaml_streams import YamlError
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from tests.corpus.place import CORPUS, needs_corpus

VECTORS = CORPUS / "yaml-vectors.json"
pytestmark = needs_corpus

# Go bounds nesting at 10000; our limit is 500, so the vectors between are loaded with a limit of their own.
GO_DEPTH = Limits(yaml_depth=10_000)
# As raw JSON a number that no object can hold still passes; Go refuses it as soon as an object is wanted.
RAW_ONLY = {"doc-118"}


def vectors() -> list[dict[str, Any]]:
    if not VECTORS.exists():
        return []
    loaded: list[dict[str, Any]] = json.loads(VECTORS.read_text())["vectors"]
    return loaded


def source(vector: dict[str, Any]) -> bytes:
    return base64.b64decode(vector["input_base64"]) if "input_base64" in vector else vector["input"].encode()


def limits(vector: dict[str, Any]) -> Limits:
    return GO_DEPTH if vector["group"] == "deep" else DEFAULT_LIMITS


def expected(text: str) -> Any:
    """Go's JSON text as an unstructured object holds it."""
    return json.loads(text, parse_int=lambda digits: as_value(int(digits)), parse_float=lambda t: integral(float(t)))


def leaves(value: Any) -> Iterator[tuple[Any, ...]]:
    """Types too, which == ignores (1 == True == 1.0); iterative, because some vectors are deep."""
    todo: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    while todo:
        path, item = todo.pop()
        if isinstance(item, dict):
            yield (path, "{}", len(item))
            todo.extend(((path, key), item[key]) for key in sorted(item))
        elif isinstance(item, list):
            yield (path, "[]", len(item))
            todo.extend(((path, str(number)), entry) for number, entry in enumerate(item))
        else:
            yield (path, type(item), without_surrogates(item) if isinstance(item, str) else item)


def assert_same(value: Any, text: str) -> None:
    if text.startswith("[" * 500):
        assert json_of_deep_lists(value) == text
    else:
        assert list(leaves(value)) == list(leaves(expected(text)))


def json_of_deep_lists(value: Any) -> str:
    depth = 0
    while isinstance(value, list) and value:
        (value,) = value
        depth += 1
    inner = "[]" if value == [] else json.dumps(value)
    return "[" * depth + inner + "]" * depth


def assert_refused(read: Callable[[], object]) -> None:
    with pytest.raises(ContentError) as caught:
        read()
    assert not isinstance(caught.value, YamlError) or caught.value.line


@pytest.mark.parametrize("vector", vectors(), ids=lambda vector: vector["id"])
def test_a_document(vector: dict[str, Any]) -> None:
    if "error" in vector:
        assert_refused(lambda: yaml.load(source(vector), limits=limits(vector)))
    else:
        assert_same(yaml.load(source(vector), limits=limits(vector)), vector["json"])


@pytest.mark.parametrize("vector", [v for v in vectors() if "docs" in v], ids=lambda vector: vector["id"])
def test_a_stream(vector: dict[str, Any]) -> None:
    if "docs_error" in vector or vector["id"] in RAW_ONLY:
        assert_refused(lambda: yaml.load_all(source(vector)))
    else:
        assert_same(yaml.load_all(source(vector)), json.dumps(vector["docs"]))


@pytest.mark.parametrize("vector", [v for v in vectors() if "docs_error" in v], ids=lambda vector: vector["id"])
def test_the_documents_before_a_defect_are_read(vector: dict[str, Any]) -> None:
    found: list[Any] = []
    with pytest.raises(ContentError):
        found.extend(yaml.documents(source(vector)))
    assert_same(found, json.dumps(vector["docs"]))


def test_every_vector_is_there() -> None:
    assert len(vectors()) == 591


def test_the_default_depth_is_ours() -> None:
    assert DEFAULT_LIMITS.yaml_depth < sys.getrecursionlimit()

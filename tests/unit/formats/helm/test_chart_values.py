"""The values of a release: read, merged in order, and kept out of messages."""

from typing import Any

import pytest

from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.formats.helm.request import (
    HelmRequest,
    ValuesDocument,
    merged_values,
    values_of_config,
    without_secrets,
)


def merged(*documents: Any) -> dict[str, Any]:
    return merged_values([ValuesDocument(document=document) for document in documents])


@pytest.mark.parametrize(
    ("documents", "values"),
    [
        ((), {}),
        (("",), {}),
        (("a: 1", "b: 2"), {"a": 1, "b": 2}),
        (("a: {b: 1, c: 2}", {"a": {"c": 3}}), {"a": {"b": 1, "c": 3}}),
        (("a: [1, 2]", "a: [3]"), {"a": [3]}),
        (("a: {b: 1}", "a: text"), {"a": "text"}),
        (("a: text", "a: {b: 1}"), {"a": {"b": 1}}),
        (("a: {b: 1}", "a: null"), {"a": None}),
        (("a: {b: 1}", b"a: {b: null}"), {"a": {"b": None}}),
        (('{"a": 18446744073709551615}',), {"a": 18446744073709551615}),
    ],
)
def test_the_later_document_wins(documents: tuple[Any, ...], values: dict[str, Any]) -> None:
    assert merged(*documents) == values


def test_documents_are_not_changed_by_merging() -> None:
    first = {"a": {"b": 1}}
    merged(first, "a: {c: 2}")
    assert first == {"a": {"b": 1}}


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ("a: b: c", "read chart values: Secret shop/web: yaml: line 1, column 5: mapping values are not allowed"),
        ("- a", "^read chart values: Secret shop/web: values must be an object, got a list$"),
        (
            "text",
            "^read chart values: Secret shop/web: values must be an object, got a string$",
        ),
    ],
)
def test_values_are_a_mapping(document: str, text: str) -> None:
    with pytest.raises(ContentError, match=text):
        merged_values([ValuesDocument(document=document, origin="Secret shop/web")])


def test_error_of_a_secret_document_quotes_nothing() -> None:
    secret = ValuesDocument(document='a: "hunter2\\q"', origin="Secret shop/web", is_secret=True)
    with pytest.raises(ContentError) as caught:
        merged_values([secret])
    assert str(caught.value).startswith("read chart values: Secret shop/web: invalid YAML at line 1, column ")


@pytest.mark.parametrize(
    ("config", "values"),
    [({}, {}), ({"values": ""}, {}), ({"values": "a: 1", "x": "y"}, {"a": 1}), ({"values": {"a": 1}}, {"a": 1})],
)
def test_the_config_of_a_deployment_holds_a_text_or_an_object(config: dict[str, Any], values: dict[str, Any]) -> None:
    assert merged_values(values_of_config(config)) == values


@pytest.mark.parametrize(("wrong", "kind"), [(5, "a number"), ([], "a list"), (True, "a boolean")])
def test_another_config_is_refused(wrong: object, kind: str) -> None:
    with pytest.raises(ContentError) as caught:
        values_of_config({"values": wrong})
    text = f"parse deployment config: spec.config.values must be an object or a string of YAML, got {kind}"
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("key", "advice"),
    [
        ("replicas", "values of the chart belong in spec.config.values"),
        ("value", "did you mean spec.config.values?"),
        ("valueFrom", "did you mean spec.config.valuesFrom?"),
    ],
)
def test_keys_that_are_not_used_are_refused_with_where_values_belong(key: str, advice: str) -> None:
    with pytest.raises(ContentError) as caught:
        values_of_config({key: 2, "values": "a: 1"})
    assert str(caught.value) == f"parse deployment config: spec.config.{key} is not used for charts; {advice}"


def test_values_from_elsewhere_are_not_part_of_the_config() -> None:
    config = {"valuesFrom": [{"kind": "Secret", "name": "x"}], "values": "a: 1"}
    assert merged_values(values_of_config(config)) == {"a": 1}


def test_secret_values_are_taken_out_of_messages() -> None:
    secret = ValuesDocument(
        document={
            "a": ["hunter2", {"b": "hunter2-longer"}],
            "n": 123456,
            "t": "one line\nand another",
            "s": "ab",
            "on": True,
        },
        is_secret=True,
    )
    documents = [secret, ValuesDocument(document="open: visible")]
    said = "at '/a': 'hunter2' hunter2-longer aHVudGVyMg== 123456 and another visible ab True"
    assert without_secrets(said, documents, DEFAULT_LIMITS) == "at '/a': '***' *** *** *** *** visible ab True"


def test_printed_request_holds_no_values() -> None:
    request = HelmRequest(namespace="shop", values=(ValuesDocument(document="a: hunter2"),), settings=("b=hunter2",))
    assert "hunter2" not in repr(request)

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.content import yaml
from rukpak_py.content.yaml_positions import Path
from rukpak_py.formats.registry_v1.metadata.properties import merged, of_annotation, of_file


def test_annotation_and_file_are_joined_in_this_order_without_removing_repetitions() -> None:
    annotation, _ = of_annotation('[ {"value": {"b": 1.0e3, "a": "<&>"}, "type": "x"} , {"type": "z"}]')
    file, _ = of_file(yaml.load(b"properties:\n- {type: z}\n- {type: 5, value: {b: 1.0, a: <x>}}\n"))
    assert merged(annotation, file) == (
        r'[{"type":"x","value":{"b":1.0e3,"a":"\u003c\u0026\u003e"}},{"type":"z","value":null},'
        r'{"type":"z","value":null},{"type":"5","value":{"a":"\u003cx\u003e","b":1}}]'
    )


@pytest.mark.parametrize(
    ("annotation", "file", "written"),
    [
        ("null", "properties:", "null"),
        ("null", "", "null"),
        ("[]", "x: 1", "null"),
        ("[]", "properties: []", "null"),
        ('[null, {"Type": "a", "VALUE": [ ]}]', "", '[{"type":"","value":null},{"type":"a","value":[]}]'),
        (r'[{"type": "a", "t\u0079pe": "\ud800", "type": null}]', "", '[{"type":"\ufffd","value":null}]'),
        ("[]", "Properties: [{TYPE: 1.50}, null]", '[{"type":"1.5","value":null},{"type":"","value":null}]'),
    ],
)
def test_absent_and_null_and_other_spellings(annotation: str, file: str, written: str) -> None:
    assert merged(of_annotation(annotation)[0], of_file(yaml.load(file.encode()))[0]) == written


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x", "expected a value, got 'x' at character 1"),
        ("{}", "it must be a list, got an object"),
        ("5", "it must be a list, got number 5.0"),
        ('"' + "x" * 50 + '"', "it must be a list, got a long string"),
        ("[null, true]", "[1] must be an object, got boolean true"),
        ('[{"Type": []}]', "[0].Type must be a string, got a list"),
        ('[{"type": 1e999}]', "[0].type must be a string, got number Infinity"),
    ],
)
def test_an_annotation_that_cannot_be_decoded(text: str, problem: str) -> None:
    assert of_annotation(text)[1] == [problem]


@pytest.mark.parametrize(
    ("text", "path", "problem"),
    [
        ("- a", (), "must be an object, got a list"),
        ("properties: {}", ("properties",), "must be a list, got an object"),
        ("properties: [5]", ("properties", 0), "must be an object, got number 5"),
        ("properties: [{}, {type: []}]", ("properties", 1, "type"), "must be a string, got a list"),
    ],
)
def test_a_file_that_cannot_be_decoded(text: str, path: Path, problem: str) -> None:
    _, (defect,) = of_file(yaml.load(text.encode()))
    assert (defect.path, defect.text) == (path, problem)


def test_a_value_that_nests_too_deeply_is_a_defect() -> None:
    value: object = 1
    for _ in range(5000):
        value = [{"a": value}]
    _, (defect,) = of_file({"properties": [{"value": value}]})
    assert defect.path == ("properties", 0, "value")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.lists(st.fixed_dictionaries({"type": st.text(st.characters(exclude_categories=["Cs"])), "value": values})))
def test_properties_mean_the_same_after_they_were_written(properties: list[dict[str, object]]) -> None:
    annotation, defects = of_annotation(json.dumps(properties))
    assert defects == []
    assert json.loads(merged(annotation, None)) == (properties or None)

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
    ("text", "path", "problem"),
    [
        ("x", (), "invalid character 'x' looking for beginning of value"),
        ("{}", (), "json: cannot unmarshal object into Go value of type []property.Property"),
        ("[null, 5]", (1,), "json: cannot unmarshal number into Go value of type property.Property"),
        (
            '[{"Type": []}]',
            (0, "Type"),
            "json: cannot unmarshal array into Go struct field Property.type of type string",
        ),
    ],
)
def test_an_annotation_that_cannot_be_decoded(text: str, path: Path, problem: str) -> None:
    _, (defect,) = of_annotation(text)
    assert (defect.path, defect.text) == (path, problem)


@pytest.mark.parametrize(
    ("text", "path", "problem"),
    [
        ("- a", (), "array into Go value of type source.RegistryV1Properties"),
        (
            "properties: {}",
            ("properties",),
            "object into Go struct field RegistryV1Properties.properties of type []property.Property",
        ),
        (
            "properties: [5]",
            ("properties", 0),
            "number into Go struct field RegistryV1Properties.properties of type property.Property",
        ),
        (
            "properties: [{}, {type: []}]",
            ("properties", 1, "type"),
            "array into Go struct field Property.properties.type of type string",
        ),
    ],
)
def test_a_file_that_cannot_be_decoded(text: str, path: Path, problem: str) -> None:
    _, (defect,) = of_file(yaml.load(text.encode()))
    assert (defect.path, defect.text) == (path, f"json: cannot unmarshal {problem}")


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

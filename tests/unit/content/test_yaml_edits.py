"""Scalars replaced in a file: the value is the new one, and nothing else differs."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.content import yaml
from rukpak_py.content.yaml_edits import Edit, differences, edited
from rukpak_py.content.yaml_positions import Positions
from rukpak_py.core.limits import DEFAULT_LIMITS


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        ("port: 8080  # of the server\n", Edit(1, 7, None), 'port: "8080"  # of the server\n'),
        ("version: 1.30\n", Edit(1, 10, None), 'version: "1.30"\n'),
        ("on: yes\r\nnext: 1\r\n", Edit(1, 5, None), 'on: "yes"\r\nnext: 1\r\n'),
        ("{a: {b: [1, 2]}}\n", Edit(1, 13, None), '{a: {b: [1, "2"]}}\n'),
        ('{"a": 1}', Edit(1, 7, None), '{"a": "1"}'),
        ("a: &a {b: [1]}\nc: [2]\n", Edit(2, 5, None), 'a: &a {b: [1]}\nc: ["2"]\n'),
        ('replicas: "2"\n', Edit(1, 11, "2", is_string=False), "replicas: 2\n"),
        ("replicas: '2'\n", Edit(1, 11, "2", is_string=False), "replicas: 2\n"),
        ("value: '-5'\n", Edit(1, 8, "-5", is_string=False), "value: -5\n"),
        ("kind: Deploymnet\n", Edit(1, 7, "Deployment"), "kind: Deployment\n"),
        ('"kind": "Deploymnet"\n', Edit(1, 9, "Deployment"), '"kind": "Deployment"\n'),
        ("kind: 'Deploymnet'\n", Edit(1, 7, "Deployment"), "kind: 'Deployment'\n"),
        ("a: 'x'\n", Edit(1, 4, "it's"), "a: 'it''s'\n"),
        ("a: x\n", Edit(1, 4, ""), 'a: ""\n'),
        ("a: registry+v2\n", Edit(1, 4, "registry+v1"), "a: registry+v1\n"),
        ("a: x\n", Edit(1, 4, "1e+3"), 'a: "1e+3"\n'),
        ("a: x\n", Edit(1, 4, "true"), 'a: "true"\n'),
        ("a: x\n", Edit(1, 4, "b: c"), 'a: "b: c"\n'),
        ("x:\n  - a: 1\n---\nminiKube: 1\n", Edit(4, 1, "minKube"), "x:\n  - a: 1\n---\nminKube: 1\n"),
        ("\ufeffa: 1\n", Edit(1, 4, None), '\ufeffa: "1"\n'),
        ("ä: {ö: 1, ü: 2}\n", Edit(1, 14, None), 'ä: {ö: 1, ü: "2"}\n'),
    ],
)
def test_scalar_is_replaced(before: str, edit: Edit, after: str) -> None:
    assert edited(before.encode(), [edit]) == after.encode()
    assert differences(before.encode(), after.encode()) == 1


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ('port: "8080"\n', Edit(1, 7, None)),
        ("name: web\n", Edit(1, 7, None)),
        ("name: web\n", Edit(1, 7, "web")),
        ("name: web\n", Edit(1, 6, "x")),
        ("port: &port 8080\n", Edit(1, 7, None)),
        ("port: &port 8080\nother: *port\n", Edit(2, 8, None)),
        ("a: &a {port: [8080]}\nb: *a\n", Edit(1, 15, None)),
        ("port: !!int 8080\n", Edit(1, 7, None)),
        ("text: |\n  8080\n", Edit(1, 7, "x")),
        ("text: a\n  b\n", Edit(1, 7, "x")),
        ('text: "a\n  b"\n', Edit(1, 7, "x")),
        ("a:\n  b: 1\n", Edit(1, 1, "x\ny")),
        ("a: 1\nb: [\n", Edit(1, 4, None)),
        ("a: 1\u2028b: 2\nc: 3\n", Edit(1, 4, None)),
        ("a: x\rb: 2\n", Edit(1, 4, "z")),
        ("size: 1\n", Edit(1, 7, "1; 2", is_string=False)),
        ('size: "010"\n', Edit(1, 7, "010", is_string=False)),
        ('size: "on"\n', Edit(1, 7, "on", is_string=False)),
    ],
)
def test_file_stays_where_a_replacement_is_in_doubt(text: str, edit: Edit) -> None:
    assert edited(text.encode(), [edit]) == text.encode()


def test_file_that_is_no_text_stays() -> None:
    assert edited(b"a: \xff\n", [Edit(1, 4, "x")]) == b"a: \xff\n"


_SCALARS = st.one_of(st.integers(0, 99999), st.booleans(), st.sampled_from(["web", "on", "1.30", "it's", "a: b", "ö"]))
_VALUES = st.dictionaries(st.sampled_from("abcdef"), st.lists(_SCALARS, min_size=1, max_size=4), min_size=1)


@pytest.mark.parametrize("language", ["json", "yaml"])
@given(value=_VALUES, data=st.data())
def test_other_values_stay_as_they_are(language: str, value: dict[str, list[Any]], data: st.DataObject) -> None:
    dump = json.dumps(value, ensure_ascii=False, indent=1) if language == "json" else _written(value)
    key = data.draw(st.sampled_from(sorted(value)))
    index = data.draw(st.integers(0, len(value[key]) - 1))
    position = Positions(dump.encode()).of(0, (key, index))
    assert position is not None
    result = edited(dump.encode(), [Edit(position.line, position.column, "changed here")])
    value[key][index] = "changed here"
    assert differences(dump.encode(), result) == 1
    assert yaml.load(result, limits=DEFAULT_LIMITS) == value
    assert len(result.split(b"\n")) == len(dump.encode().split(b"\n"))


def _written(value: dict[str, list[Any]]) -> str:
    lines = []
    for key, items in value.items():
        lines += [
            f"{key}:   # a comment: with [brackets]",
            *(f"  - {json.dumps(item, ensure_ascii=False)}" for item in items),
        ]
    return "\n".join(lines) + "\n"

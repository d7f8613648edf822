"""Written YAML reads back as the same values, everywhere, and looks like that of kubectl."""

import json
from typing import Any

import pytest
import yaml as pyyaml
from hypothesis import example, given
from hypothesis import strategies as st

from rukpak_py.content import yaml
from rukpak_py.content.yaml_dump import dump_all

OBJECTS: list[Any] = [
    {
        "apiVersion": "v1",
        "kind": "List",
        "items": [{"name": "x", "labels": {}, "ports": [80, 443]}, [["a"], []], "y", None, 1.5, 1e22],
        "cpu": "500m",
        "version": "1.2.3",
        "on": True,
        "no": "no",
        "date": "2021-01-02",
        "empty": "",
        "text": "a: b",
        "url": "http://x/?a=b#c",
        "script": "#!/bin/sh\nexit 0\n",
        "json": '[\n  {"a": 1}\n]',
        "kept": "a\n\n",
        "list": ["one\n  two\n"],
        "quote": '"a"',
        "tab": "a\tb",
    },
    {"kind": "B"},
]
STREAM = """\
---
apiVersion: v1
kind: List
items:
- name: x
  labels: {}
  ports:
  - 80
  - 443
- - - a
  - []
- "y"
- null
- 1.5
- 1.0e+22
cpu: 500m
version: 1.2.3
"on": true
"no": "no"
date: "2021-01-02"
empty: ""
text: "a: b"
url: http://x/?a=b#c
script: |
  #!/bin/sh
  exit 0
json: |-
  [
    {"a": 1}
  ]
kept: |+
  a

list:
- |
  one
    two
quote: '"a"'
tab: "a\\tb"
---
kind: B
"""
# What some reader of YAML takes for something else than text, and what may not stand plain.
TEXTS = [
    *["y", "Yes", "oN", "OFF", "true", "nUll", "~", "null", "=", "<<", "-", "?", ":", "---", "...", "!!str a", "a:"],
    *["1", "1.0", "1e3", ".5", "0x1F", "0o7", "017", "1_000", "+1", ".inf", ".NaN", "12:30:45", "2021-01-02T03:04:05Z"],
    *[" a", "a ", "a #b", "#a", "a: b", "*a", "&a", "%a", "@a", "`a", "'", '"', "\\", "[a", "{a}", "|", ">", ",a", "]"],
    *["a\nb", "a\n", "\na", "a\n\n\n", " a\nb", "a\n b", "a\n \nb", "a\n ", "\ta\nb", "a\n\tb", "a\r\nb", "a\u2028\nb"],
    *["a\x85b", "a\u2028b", "\ufeffa", "\x00", "\x7f", "\xa0", "\U0001f642", "\U000e0001", "é", "a\n---\nb", "0b1"],
    *["- a", "1E", "1m", "1Ei", "1E3", "1.2.3", "1.2.3-4", "5s", "5h", "\\/", "a\\\nb", "a\n#b", "a\n...\n"],
]  # fmt: skip
INTEGERS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda number: not number.is_integer() or abs(number) > 1e21
)
TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.text("ab \n\t:#-'\"\\.01", max_size=12),
    st.sampled_from(TEXTS),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), INTEGERS, FLOATS, TEXT),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=15,
)


def dumped(*objects: Any) -> str:
    return "".join(dump_all(objects))


def typed(value: Any) -> str:
    """1, 1.0 and True are equal; their texts are not."""
    return json.dumps(value)


def test_output_looks_like_that_of_kubectl() -> None:
    assert dumped(*OBJECTS) == STREAM


def test_nothing_is_nothing() -> None:
    assert list(dump_all([])) == []


@given(st.lists(VALUES, max_size=3))
@example([{"k" * 5000: {"k" * 1000: [1, {"k" * 2000: "a\nb\n"}]}}])
@example([{"a": "x" * 100_000 + "\n" + "y " * 1000}])
@example([{"a": text} for text in TEXTS])
@example([{text: [text, [text]]} for text in TEXTS])
def test_everything_comes_back(values: list[Any]) -> None:
    stream = dumped(*values)
    assert typed(yaml.load_all(stream.encode())) == typed(values)
    assert typed(list(pyyaml.safe_load_all(stream))) == typed(values)
    assert dumped(*values) == stream


@given(st.lists(VALUES, max_size=3))
def test_every_line_is_in_its_place(values: list[Any]) -> None:
    """A separator stands only between documents, so that streams can be cut by their lines."""
    assert sum(line.startswith("---") for line in dumped(*values).split("\n")) == len(values)


def test_depth_is_no_matter() -> None:
    value: Any = "x"
    for _ in range(5000):
        value = {"a": [value]}
    assert dumped(value).count("a:") == 5000


def test_halves_of_pairs_are_replaced() -> None:
    assert yaml.load_all(dumped({"a": "\ud83d"}).encode()) == [{"a": "\ufffd"}]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), b"a"])
def test_value_without_a_place_in_json_is_refused(value: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="has no place in JSON"):
        dumped({"a": value})

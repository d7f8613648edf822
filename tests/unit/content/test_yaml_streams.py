"""How a file is cut into documents, and when it is JSON."""

import pytest

from rukpak_py.content import yaml
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits

STREAMS = [
    (b"", []),
    (b"\n", [None]),
    (b"---\n", [None]),
    (b"# c\n---\na: 1\n", [None, {"a": 1}]),
    (b"a: 1\n---\nb: 2\n---\n", [{"a": 1}, {"b": 2}]),
    (b"---\na: 1\n---\nb: 2", [{"a": 1}, {"b": 2}]),
    (b"a: 1\n---#c\nb: 2\n", [{"a": 1}, {"b": 2}]),
    (b"a: 1\n--- # c\nb: 2\n", [{"a": 1}, {"b": 2}]),
    (b"---\n# only\n---\na: 1\n---\n\n---\nb: 2\n", [None, {"a": 1}, None, {"b": 2}]),
    (b"a: |\n  x\n---\nb: |\n  y", [{"a": "x\n"}, {"b": "y\n"}]),  # the last line gains its end
    (b"a: |\n ---\n", [{"a": "---\n"}]),
    (b"a: 1\r\n---\r\nb: 2\r\n", [{"a": 1}, {"b": 2}]),
    (b"a: 1\n...\nb: [\n", [{"a": 1}]),
    (b"a: 1\n---\n\xef\xbb\xbfb: 2\n", [{"a": 1}, {"b": 2}]),
    (b'{"a": 1}\n{"b": 2}\n', [{"a": 1}, {"b": 2}]),
    (b'{"a": 1}{"b": 2}', [{"a": 1}, {"b": 2}]),
    (b'  {"a": 1}\n', [{"a": 1}]),
    (b'{"a": 1}\n---\nb: 2\n', [{"a": 1}, {"b": 2}]),
    (b"{a: 1}\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
    (b'{"a": 1,}\n', [{"a": 1}]),  # YAML allows it
    (b'{"a": 1, "a": 2}', [{"a": 2}]),
    (b'{"a": 1.0, "b": 1e3, "c": -0}', [{"a": 1, "b": 1000, "c": 0}]),
    (b'{"a": 12345678901234567890}', [{"a": 1.2345678901234567e19}]),
    (b'{"a": "\\ud83d\\ude42 \\ud83d \\\\ud83d \xe2\x82"}', [{"a": "\U0001f642 \ufffd \\ud83d \ufffd\ufffd"}]),
    (b" " * 5000 + b'{"a": 1}', [{"a": 1}]),
]  # fmt: skip


@pytest.mark.parametrize(("data", "values"), STREAMS, ids=[repr(data[:30]) for data, _ in STREAMS])
def test_documents(data: bytes, values: list[object]) -> None:
    assert yaml.load_all(data) == values


@pytest.mark.parametrize("line", ["---foo", "--- foo", "----", "--- {a: 1}", "--- |", "---\ta: 1"])
def test_a_separator_carries_nothing_but_a_comment(line: str) -> None:
    with pytest.raises(ContentError, match="yaml: line 2, column 1: invalid document separator: "):
        yaml.load_all(f"a: 1\n{line}\n".encode())


def test_lines_are_those_of_the_file() -> None:
    with pytest.raises(ContentError, match=r"^yaml: line 6, column 1: "):
        yaml.load_all(b"# c\n---\na: 1\n---\nb: 1\n\tc: 2\n")
    with pytest.raises(ContentError, match=r"yaml: line 4, column 4: unknown anchor"):
        yaml.load_all(b'{"a": 1}\n---\nc: 2\nb: *x\n')


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": 1} x\n',  # too little left to look at as YAML
        b'{"a": 1}\n{"b": 1}\n{"c"\n',  # two values make it JSON for good
        b'{"a": 1e400}',
        b'{"a": "\n',
    ],
)
def test_broken_json_is_refused(data: bytes) -> None:
    with pytest.raises(ContentError):
        yaml.load_all(data)


def test_a_yaml_flow_mapping_may_hold_what_json_may_not() -> None:
    assert yaml.load_all(b'{"a": tRue, "b": NaN}') == [{"a": "tRue", "b": "NaN"}]


def test_nesting_of_json_is_bounded() -> None:
    yaml.load_all(b'{"a":' * 499 + b"[]" + b"}" * 499)
    for data in (b'{"a":' * 501 + b"1" + b"}" * 501, b'{"a": ' + b"[" * 1_000_000):
        with pytest.raises(ContentError, match="nesting of JSON exceeds the limit of 500"):
            yaml.load_all(data)


def test_brackets_in_text_do_not_nest() -> None:
    assert yaml.load_all(b'{"a": "' + b"[{" * 600 + b'\\""}') == [{"a": "[{" * 600 + '"'}]


def test_values_of_json_are_bounded() -> None:
    data = b'{"a": [' + b"1," * 600 + b"1]}"
    yaml.load_all(data)
    with pytest.raises(ContentError, match=r"RUKPAK_LIMIT_YAML_NODES"):
        yaml.load_all(data, limits=Limits(yaml_nodes=600))


def test_nodes_are_bounded_over_all_documents() -> None:
    """Small documents escape the rule against alias bombs one by one, so their sum counts."""
    document = b"- &a [1, 2, 3, 4, 5, 6, 7, 8, 9]\n- &b [*a, *a, *a, *a, *a, *a, *a, *a]\n- [*b, *b, *b]\n---\n"
    yaml.load_all(document * 10)
    with pytest.raises(
        ContentError, match=r"with aliases expanded, exceeds the limit of 3000 \(RUKPAK_LIMIT_YAML_NODES sets it\)"
    ):
        yaml.load_all(document * 10, limits=Limits(yaml_nodes=3000))


def test_documents_count_as_nodes() -> None:
    for text in (b"a\n---\n", b"---\n"):
        with pytest.raises(ContentError, match="RUKPAK_LIMIT_YAML_NODES"):
            yaml.load_all(text * 250 + b"a", limits=Limits(yaml_nodes=100))

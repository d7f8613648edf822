"""Vectors of reading a file: what is a blob, what is refused, and where."""

import pytest

from rukpak_py.catalog.model import CustomBlob
from rukpak_py.catalog.read_file import FileContent, read_file

X = b"schema: x\n"
EMPTY = "FBC-L01"


def read(data: bytes) -> FileContent:
    return read_file("a.yaml", data)


def rules_of(content: FileContent) -> list[str]:
    return [finding.rule for finding in content.findings]


@pytest.mark.parametrize(
    ("data", "blobs"),
    [
        pytest.param(b"---\n" + X, 1, id="vector 70: a leading separator"),
        pytest.param(X + b"---", 1, id="vector 73: a last separator"),
        pytest.param(X + b"---\n", 1, id="vector 73: a last separator with its line end"),
        pytest.param(b"", 0, id="vector 75: no byte"),
        pytest.param(b'{"schema":"x","schema":"y"}', 1, id="vector 80: an exact duplicate"),
        pytest.param(b"\xef\xbb\xbf" + X, 1, id="vector 85: a byte order mark"),
        pytest.param(b'{"schema":"x"}\n---\nschema: z\n', 2, id="vector 88a: an object and a YAML document"),
        pytest.param(b'{"schema":"x",}', 1, id="vector 88d: a trailing comma"),
        pytest.param(b'{"schema":"x"}{"schema":"y"}', 2, id="objects without a blank between them"),
        pytest.param(b"schema: x\r\n---\r\nschema: z\r\n", 2, id="CRLF"),
        pytest.param(b"schema: x\ntext: |\n  a\n  ---\n  b\n", 1, id="an indented separator is content"),
        pytest.param(b"SCHEMA: x\n", 1, id="vector 65: keys in any case"),
    ],
)
def test_blobs_of_a_file(data: bytes, blobs: int) -> None:
    content = read(data)
    assert len(content.catalog.custom) == blobs
    assert content.findings == ()
    assert not content.is_broken


@pytest.mark.parametrize(
    ("data", "rules"),
    [
        pytest.param(b"---\n---\n" + X, [EMPTY], id="vector 71: two separators first"),
        pytest.param(b"# a comment\n---\n" + X, [EMPTY], id="vector 72: a comment before the first separator"),
        pytest.param(X + b"---\n\n", [EMPTY], id="vector 74: an empty line behind the last separator"),
        pytest.param(X + b"---\n# end\n", [EMPTY], id="vector 74: a comment behind the last separator"),
        pytest.param(b"\n", [EMPTY], id="vector 76: one line end"),
        pytest.param(b"Some prose.\n", ["FBC-L02"], id="vector 77: prose"),
        pytest.param(b"# title\n", [EMPTY], id="vector 78: a comment"),
        pytest.param(b"[1]", ["FBC-L02"], id="vector 79: an array"),
        pytest.param(b'{"a":1}', [EMPTY], id="vector 79: no schema"),
        pytest.param(b'{"schema":1}', ["FBC-L05"], id="vector 79: a number as schema"),
        pytest.param(b'{"schema":null}', ["FBC-L05"], id="vector 79: null as schema"),
        pytest.param(b'{"schema":"x","Schema":"y"}', ["FBC-L06"], id="vector 80: keys that differ in case"),
        pytest.param(b'{"schema":"x"', ["FBC-L03"], id="vector 81: truncated"),
        pytest.param(b'{"schema":"x"}{"schema":"y"', ["FBC-L03"], id="vector 81: the second truncated"),
        pytest.param(b'{"schema":"x"}{"schema":"y"}{"', ["FBC-L04"], id="vector 81: the third truncated"),
        pytest.param(b"--- {schema: x}\n", ["FBC-L03"], id="vector 82: content on the line of a separator"),
        pytest.param(b"----\n", ["FBC-L03"], id="vector 82: four dashes"),
        pytest.param(b"schema: x\n\tname: y\n", ["FBC-L03"], id="vector 84: a tab"),
        pytest.param(b"schema: x\0\n", ["FBC-L03"], id="vector 84: a NUL byte"),
        pytest.param(b"schema: \xff\n", ["FBC-L03"], id="vector 84: no UTF-8"),
        pytest.param(b"schema: y\n", ["FBC-L05"], id="vector 86: y is a boolean"),
        pytest.param(b"schema: x\nv: .inf\n", ["FBC-L03"], id="vector 87: infinity"),
        pytest.param(b'{"schema":"x"}{"schema":"x"}\n---\nschema: y\n', ["FBC-L04"], id="vector 88b"),
        pytest.param(b'{"schema":"x"}\n# comment\n', [EMPTY], id="vector 88e: a comment behind an object"),
        pytest.param(b"schema: x\nname: 123\n", ["FBC-L05"], id="vector 66: an unquoted number"),
    ],
)
def test_refused_files(data: bytes, rules: list[str]) -> None:
    content = read(data)
    assert rules_of(content) == rules
    assert content.is_broken
    assert all(finding.line for finding in content.findings)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"schema: x\n...\nschema: y\n", id="vector 83: behind the end of a document"),
        pytest.param(b'---\n{"schema":"x"}\n{"schema":"y"}\n', id="vector 88c: objects behind a separator"),
        pytest.param(b'\xef\xbb\xbf{"schema":"x"}\n\n{"schema":"y"}', id="objects behind a byte order mark"),
    ],
)
def test_lost_content_is_reported(data: bytes) -> None:
    content = read(data)
    assert [blob.schema for blob in content.catalog.custom] == ["x"]
    assert [(finding.rule, finding.line, finding.column) for finding in content.findings] == [("FBC-W02", 3, 1)]
    assert not content.is_broken


@pytest.mark.parametrize(
    ("file", "data"),
    [
        ("p/README.md", b"# Title\n\nSome prose: with a colon: and more\n"),
        ("p/README.md", b"# Title\n"),
        ("Dockerfile", b"FROM scratch\nADD p /configs/p\n"),
        ("LICENSE", b"Apache License\n"),
    ],
)
def test_file_that_is_no_content_is_to_be_ignored(file: str, data: bytes) -> None:
    (finding, *_) = read_file(file, data).findings
    assert finding.hint.endswith(f"name it in a `.indexignore` file, one line `{file.rpartition('/')[2]}`.")


def test_mistake_in_a_file_of_blobs_is_to_be_corrected() -> None:
    prose = b"Some prose: with a colon: and more\n"
    for file, data in (("a.yaml", prose), ("a.yml", prose), ("a.json", prose), ("blobs", X + b"---\nname: y\n")):
        (finding,) = read_file(file, data).findings
        assert finding.hint
        assert "one line" not in finding.hint


def test_every_defect_of_a_file_is_reported_with_its_line() -> None:
    content = read(b"schema: 1\n---\nschema: olm.channel\nname: a\nentries: 5\n---\nschema: x\n")
    assert [(finding.rule, finding.line) for finding in content.findings] == [("FBC-L05", 1), ("FBC-L07", 5)]
    assert [type(blob) for blob in content.catalog.custom] == [CustomBlob]


@pytest.mark.parametrize(
    ("icon", "rules"),
    [
        pytest.param("{}", [], id="vector 51: empty"),
        pytest.param("{base64data: aGk=, mediatype: text/plain}", [], id="vector 51: a text"),
        pytest.param('{base64data: "aG\\nk="}', [], id="vector 51: a line break"),
        pytest.param("{base64data: '!!'}", ["FBC-L08"], id="vector 52: no base64"),
        pytest.param("{base64data: aGk}", ["FBC-L08"], id="vector 52: no padding"),
        pytest.param("text", ["FBC-L07"], id="vector 52: a string"),
    ],
)
def test_icons(icon: str, rules: list[str]) -> None:
    assert rules_of(read(f"schema: olm.package\nname: p\nicon: {icon}\n".encode())) == rules


def test_unknown_fields_are_reported_and_dropped() -> None:
    content = read(b"schema: olm.package\nname: p\nfuture: 1\n")
    assert rules_of(content) == ["FBC-W01"]
    assert content.catalog.packages[0].name == "p"
    assert not content.is_broken


def test_slim_reading_drops_what_only_a_rendering_needs() -> None:
    data = b"""\
schema: olm.bundle
package: p
name: p.v1
properties:
- {type: olm.package, value: {packageName: p, version: 1.0.0}}
- {type: olm.bundle.object, value: {data: e30=}}
"""
    bundle = read_file("a", data, is_slim=True).catalog.bundles[0]
    assert bundle.version == "1.0.0"
    assert bundle.has_objects
    assert "data" not in str(bundle)


def test_empty_documents_cost_no_more_than_their_number() -> None:
    content = read(b"---\n\n" * 20_000)
    assert len(content.findings) == 20_000
    assert [finding.line for finding in content.findings[:3]] == [1, 4, 6]


@pytest.mark.parametrize(
    ("value", "name"),
    [
        pytest.param('{"packageName": "p", "packagename": "q"}', "q", id="the last one in bytewise order"),
        pytest.param('{"packagename": "p", "packageName": "q"}', "p", id="whatever comes first in the file"),
        pytest.param('{"PackageName": "q", "PACKAGENAME": "p"}', "q", id="none of them spelled as usual"),
        pytest.param('{"packageName": "p", "packagename": null}', "p", id="null counts for nothing"),
    ],
)
def test_of_keys_that_differ_in_their_case_one_counts_as_in_go(value: str, name: str) -> None:
    text = value.replace("}", ', "version": "1.0.0"}')
    properties = f'[{{"type": "olm.package", "value": {text}}}]'
    bundle = f'{{"schema": "olm.bundle", "package": "{name}", "name": "b", "image": "a", "properties": {properties}}}'
    assert rules_of(read(bundle.encode())) == []


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        ("links: [{url: https://example.com/?a=b}]", [(2, 15)]),
        ("links:\n- {url: a?,\n   name: b?}", [(3, 9), (4, 10)]),
        ('links: [{url: "https://example.com/?a=b"}]', []),
        ("links: [a]\nurl: https://example.com/?a=b", []),
        ("text: see [this](https://example.com/?a=b)", []),
        ("text: |\n  {a?b}", []),
    ],
)
def test_question_marks_in_flow_collections_are_refused_as_olm_does(
    text: str, positions: list[tuple[int, int]]
) -> None:
    content = read(f"schema: x\n{text}\n".encode())
    assert [(finding.line, finding.column) for finding in content.findings] == positions
    assert content.is_broken == bool(positions)

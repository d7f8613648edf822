"""The objects of a bundle are bounded in bytes and in number, in check as in render, before they take memory."""

import subprocess
import sys
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.json_text import least_json_bytes
from rukpak_py.core.limits import KIB, Limits
from rukpak_py.formats.format import RenderOptions
from rukpak_py.formats.plain import PlainFormat
from rukpak_py.formats.validation import validate
from tests.unit.controllers.fakes import tree

LIMITS = Limits(object_bytes=2 * KIB, rendered_bytes=5 * KIB, rendered_objects=10)
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {a: %s}\n---\n"
NO_LIMIT = 1 << 40

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), 1 << 63) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_the_least_size_is_never_more_than_the_size(value: Any) -> None:
    assert least_json_bytes(value, stop_at=NO_LIMIT) <= len(orjson.dumps(value))


@pytest.mark.parametrize("value", ["abc", {}, [], {"a": "b"}, ["a", ["b", "c"]], {"a": {"b": {}, "c": ["x"]}}])
def test_the_least_size_of_ascii_text_is_exact(value: Any) -> None:
    assert least_json_bytes(value, stop_at=NO_LIMIT) == len(orjson.dumps(value))


def test_measuring_stops_soon_after_the_limit() -> None:
    shared: list[Any] = ["x"] * 1000
    for _ in range(6):
        shared = [shared] * 1000  # 10**21 members
    assert least_json_bytes(shared, stop_at=10_000) > 10_000


def refusals(content: Tree, limits: Limits) -> list[str]:
    """Refusals of check and of render, without the words that name the step."""
    told = []
    for call in (
        lambda: PlainFormat().check(content, limits=limits),
        lambda: PlainFormat().render(content, RenderOptions(limits=limits)),
    ):
        with pytest.raises(ContentError) as caught:
            call()
        told.append(str(caught.value).partition("bundle")[2].partition(": ")[2])
    return told


@pytest.mark.parametrize(
    ("text", "what", "limit"),
    [
        (
            MAP % ("large", "x" * 2100),
            "manifests/a.yaml: the JSON of ConfigMap large",
            "2 KiB (RUKPAK_LIMIT_OBJECT_BYTES",
        ),
        (
            MAP % ("escaped", '"' + r"\e" * 400 + '"'),  # 400 characters, 2400 bytes
            "manifests/a.yaml: the JSON of ConfigMap escaped",
            "2 KiB (RUKPAK_LIMIT_OBJECT_BYTES",
        ),
        (
            "".join(MAP % (name, "x" * 1500) for name in "abcd"),
            "manifests/a.yaml: the JSON of all objects of the bundle",
            "5 KiB (RUKPAK_LIMIT_RENDERED_BYTES",
        ),
        (
            "".join(MAP % (f"n{number}", "x") for number in range(11)),
            "manifests/a.yaml: the number of objects of the bundle",
            "10 (RUKPAK_LIMIT_RENDERED_OBJECTS",
        ),
        (
            "x: &x " + "x" * 900 + "\n" + "a: [*x, *x, *x, *x, *x, *x]\n",
            "error parsing manifests/a.yaml: YAML with its aliases expanded",
            "5 KiB (RUKPAK_LIMIT_RENDERED_BYTES",
        ),
    ],
    ids=["object", "escapes", "bundle", "objects", "aliases"],
)
def test_too_large_content_is_refused_by_check_and_by_render(text: str, what: str, limit: str) -> None:
    expected = f"{what} exceeds the limit of {limit} sets it)"
    assert refusals(tree(**{"manifests/a.yaml": text.encode()}), LIMITS) == [expected] * 2


def test_aliases_are_counted_over_all_files() -> None:
    text = MAP.removesuffix("---\n") + "x: &x " + "x" * 600 + "\ny: [*x, *x]\n"
    files = {f"manifests/{name}.yaml": (text % (name, "x")).encode() for name in "abcdef"}
    limits = Limits(rendered_bytes=5 * KIB)
    assert "manifests/" in refusals(tree(**files), limits)[0]
    PlainFormat().check(tree(**dict(list(files.items())[:2])), limits=limits)


@pytest.mark.parametrize("version", ["v" * 600, "[" + "v" * 600 + "]"])
def test_a_list_whose_items_would_take_a_long_version_is_refused(version: str) -> None:
    text = f"apiVersion: {version}\nkind: ConfigMapList\nitems: [" + "{}," * 1000 + "]\n"
    told = refusals(tree(**{"manifests/a.yaml": text.encode()}), Limits())
    assert "the kind and the apiVersion of a list are too long for its items to take them" in told[0]


def test_validation_tells_of_an_object_that_is_too_large() -> None:
    content = tree(**{"manifests/a.yaml": ((MAP % ("small", "x")) + (MAP % ("large", "x" * 2100))).encode()})
    found = validate(content, format_name="plain", limits=LIMITS)
    assert [(one.rule, one.document, one.line) for one in found] == [("PLAIN-009", 1, 6)]
    assert "the JSON of ConfigMap large exceeds the limit of 2 KiB" in found[0].message


# 61 KB, which become 342 MiB of JSON.
BOMB = """
import re, sys
from pathlib import Path
from rukpak_py.content.tree import TreeBuilder
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.format import RenderOptions
from rukpak_py.formats.plain import PlainFormat

def peak():
    return int(re.search(r"VmHWM:\\s+([0-9]+)", Path("/proc/self/status").read_text())[1]) // 1024

text = 'apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: a}\\nx0: &a0 "%s"\\n' % ("a" * 60_000)
text += "x1: &a1 [" + ",".join(["*a0"] * 100) + "]\\nx2: [" + ",".join(["*a1"] * int(sys.argv[1])) + "]\\n"
builder = TreeBuilder()
builder.add("manifests/a.yaml", text.encode())
tree, before = builder.build(), peak()
for call in (PlainFormat().check, lambda tree: PlainFormat().render(tree, RenderOptions())):
    try:
        call(tree)
    except ContentError as error:
        print(str(error).rpartition("YAML")[2].rpartition("JSON")[2], file=sys.stderr)
print(peak() - before)
"""


@pytest.mark.parametrize(
    ("copies", "told"),
    [
        (60, " with its aliases expanded exceeds the limit of 64 MiB (RUKPAK_LIMIT_RENDERED_BYTES sets it)"),
        (9, " of ConfigMap a exceeds the limit of 3 MiB (RUKPAK_LIMIT_OBJECT_BYTES sets it)"),  # 57 MiB
    ],
)
def test_61_kilobytes_of_content_do_not_take_hundreds_of_megabytes(copies: int, told: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", BOMB, str(copies)], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stderr.splitlines() == [told] * 2
    assert int(run.stdout) < 50, "MiB"

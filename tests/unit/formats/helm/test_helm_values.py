"""Values that we read and merge are those that helm would read and merge itself."""

import json
from contextlib import ExitStack
from typing import Any

import pytest

from rukpak_py.content.tar import write_tgz
from rukpak_py.core.limits import MIB
from rukpak_py.formats.helm.layout import archived
from rukpak_py.formats.helm.process import Bounds, HelmProgram, memory_file, path_of
from rukpak_py.formats.helm.request import ValuesDocument
from tests.unit.charts import chart, rendered, value_of

BOUNDS = Bounds(memory=512 * MIB, seconds=60, output=MIB)
DEFAULTS = "a: {b: 1, c: [1, 2], d: {e: f}}\nkept: default\ndropped: {x: y}\n"
TEMPLATE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: all}\ndata: {value: {{ .Values | toJson | quote }}}\n"


def by_helm(helm: HelmProgram, documents: list[str]) -> Any:
    tree = archived(chart({"values.yaml": DEFAULTS, "templates/a.yaml": TEMPLATE}))
    with ExitStack() as stack:
        files = [stack.enter_context(memory_file("values", [text.encode()])) for text in documents]
        archive = stack.enter_context(memory_file("chart", write_tgz(tree)))
        stdin = stack.enter_context(memory_file("none", []))
        values = [f"--values={path_of(file)}" for file in files]
        command = ["template", "--namespace=shop", *values, "release", path_of(archive)]
        ended = helm.run(command, bounds=BOUNDS, stdin=stdin, files=[*files, archive])
    printed = ended.output.decode().partition("value: ")[2].strip().removesuffix("}")
    return json.loads(json.loads(printed))


def by_us(helm: HelmProgram, documents: list[str]) -> Any:
    tree = chart({"values.yaml": DEFAULTS, "templates/a.yaml": TEMPLATE})
    values = tuple(ValuesDocument(document=text) for text in documents)
    return json.loads(value_of(rendered(helm, tree, values=values), "all"))


@pytest.mark.parametrize(
    "documents",
    [
        [],
        [""],
        ["a: {b: 2}", "a: {d: {g: h}}"],
        ["a: {c: [3]}", "a: {c: []}"],
        ["a: text", "a: {b: 5}"],
        ["a: {b: 5}", "a: text"],
        ["dropped: null", "kept: null"],
        ["a: {d: null, b: null}", "a: {d: {new: 1}}"],
        ["numbers: [1, 1.0, 1.5, 1e3, 0x1F, 017, 9007199254740993, 12345678901234567890, -0.0]"],
        ["texts: ['1', yes, no, on, ~, 2020-01-01, 1_000, '', \"\\u00e9\\n\"]"],
        ["? 1\n: one\n? true\n: two\n"],
        ["base: &b {x: 1}\ncopy: *b\nmerged: {<<: *b, y: 2}\n"],
        ["a: |\n  several\n  lines\n", '{"json": {"too": [null, true]}}'],
        ["first: 1\n---\nsecond: 2\n"],
    ],
)
def test_the_same_values(helm: HelmProgram, documents: list[str]) -> None:
    assert by_us(helm, documents) == by_helm(helm, documents)

"""plain+v0: the Objects of a bundle, as they stand in its files."""

import os
import subprocess
import sys

import pytest

from rukpak_py.content.tree import Tree, TreeBuilder
from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import Object
from rukpak_py.formats.format import RenderOptions
from rukpak_py.formats.plain import PlainFormat

POD = "apiVersion: v1, kind: Pod"
OPTIONS = RenderOptions(install_namespace="target")


def tree_of(**files: str) -> Tree:
    builder = TreeBuilder()
    for name, text in files.items():
        builder.add(f"manifests/{name}", text.encode())
    return builder.build()


def render(**files: str) -> list[Object]:
    return list(PlainFormat().render(tree_of(**files), OPTIONS).objects)


def config_map(name: str, extra: str = "") -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n{extra}"


def names(objects: list[Object]) -> list[str]:
    return [found.head.name for found in objects]


def test_objects_come_by_file_and_document() -> None:
    stream = config_map("d") + "---\n# nothing\n---\n" + config_map("c")
    assert names(render(b=stream, a=config_map("b"), C=config_map("a"))) == ["a", "b", "d", "c"]


def test_objects_are_literal() -> None:
    """Upstream ran such texts as templates; Prometheus rules broke."""
    (found,) = render(a=config_map("a", "data: {alert: '{{ $labels.pod }}', no: '1.0'}\nx: 1.0\n"))
    assert found.json == (
        b'{"apiVersion":"v1","data":{"alert":"{{ $labels.pod }}","false":"1.0"},'
        b'"kind":"ConfigMap","metadata":{"name":"a"},"x":1}'
    )


def test_nothing_is_added() -> None:
    (found,) = render(a=config_map("a"))
    assert found.manifest() == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    assert found.head.namespace == ""


def test_lists_are_flattened_breadth_first() -> None:
    inner = "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, metadata: {name: c}}]}"
    item = "{{apiVersion: v1, kind: Pod, metadata: {{name: {}}}}}"
    text = f"apiVersion: v1\nkind: List\nitems: [{item.format('a')}, {inner}, {item.format('b')}]\n"
    assert names(render(a=text)) == ["a", "b", "c"]


def test_items_of_typed_lists_take_kind_and_version_from_it() -> None:
    (found,) = render(a="apiVersion: apps/v1\nkind: DeploymentList\nitems: [{metadata: {name: a}}]\n")
    assert (found.head.gvk.api_version, found.head.gvk.kind) == ("apps/v1", "Deployment")


def test_json_files() -> None:
    assert names(render(a='{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}')) == ["a"]


def test_identical_objects_are_one() -> None:
    assert names(render(a=config_map("a"), b="# again\n" + config_map("a") + "---\n" + config_map("b"))) == ["a", "b"]


@pytest.mark.parametrize("namespace", ["", ", namespace: target"])
def test_different_objects_of_one_identity_are_refused(namespace: str) -> None:
    other = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a{namespace}}}\ndata: {{}}\n"
    with pytest.raises(ContentError, match=r"ConfigMap .*a is defined differently in manifests/a and in manifests/b"):
        render(a=config_map("a"), b=other)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (config_map("a") + "---\n" + config_map("b") + "---\n" + config_map("a", "data: {}"), "documents 1 and 3 of"),
        (
            "\n- ".join(
                ["kind: List\nitems:", *(f"{{{POD}, metadata: {{name: a}}{more}}}" for more in ("", ", x: 1"))]
            ),
            "two items of document 1 of",
        ),
    ],
)
def test_in_one_file_their_documents_are_named(text: str, where: str) -> None:
    with pytest.raises(ContentError, match=rf" a is defined differently in {where} manifests/f$"):
        render(f=text)


def test_namespaces_tell_objects_apart() -> None:
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: elsewhere}\n"
    assert len(render(a=config_map("a"), b=other)) == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kind: ConfigMap\nmetadata: {name: a}\n", "manifests/f: ConfigMap a has no apiVersion"),
        ("apiVersion: v1\nkind: ConfigMap\n", "manifests/f: an object of kind ConfigMap has no metadata.name"),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n",
            "generateName is not supported; set metadata.name",
        ),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: 5}\n", "no metadata.name"),
        ("apiVersion: v1\nkind: Pod\nmetadata: a\n", "no metadata.name"),
        (
            config_map("a", f"x: {'[' * 400}{']' * 400}\n"),
            "manifests/f: ConfigMap: ",
        ),
        ("a: [", "error parsing manifests/f: "),
    ],
)
def test_manifest_that_cannot_be_applied_is_refused_with_its_file(text: str, problem: str) -> None:
    with pytest.raises(ContentError) as caught:
        render(f=text)
    assert str(caught.value).startswith("read bundle objects from bundle: ")
    assert problem in str(caught.value)


def test_every_process_renders_the_same() -> None:
    program = (
        "from rukpak_py.content.tree import TreeBuilder\n"
        "from rukpak_py.formats.format import RenderOptions\n"
        "from rukpak_py.formats.plain import PlainFormat\n"
        "b = TreeBuilder()\n"
        "for n in {'a', 'b', 'c', 'd'}:\n"
        "    b.add('manifests/' + n, f'apiVersion: v1\\nkind: Pod\\nmetadata: {{name: {n}, z: 1, a: 2}}'.encode())\n"
        "o = RenderOptions(install_namespace='x')\n"
        "print([x.json for x in PlainFormat().render(b.build(), o).objects])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert outputs != {b"[]\n"}

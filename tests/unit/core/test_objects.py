"""Objects as values: one spelling for one object, and a head whatever the manifest lacks."""

import json
import subprocess
import sys
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import GroupVersionKind, Head, Object, ObjectKey, canonical_json

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("api_version", "group", "version"),
    [("v1", "", "v1"), ("apps/v1", "apps", "v1"), ("a/b/v1", "a/b", "v1"), ("", "", ""), ("apps/", "apps", "")],
)
def test_an_api_version_has_two_parts(api_version: str, group: str, version: str) -> None:
    gvk = GroupVersionKind.parse(api_version, "Kind")
    assert gvk == GroupVersionKind(group, version, "Kind")
    assert gvk.group_kind == (group, "Kind")


@given(group=st.text(min_size=1), version=st.text().filter(lambda text: "/" not in text))
def test_an_api_version_survives_the_way_there_and_back(group: str, version: str) -> None:
    gvk = GroupVersionKind(group, version, "Kind")
    assert GroupVersionKind.parse(gvk.api_version, "Kind") == gvk


@pytest.mark.parametrize(
    ("group", "kind", "namespace", "text"),
    [
        ("", "Secret", "shop", "Secret shop/a"),
        ("", "Namespace", "", "Namespace a"),
        ("ecr.example.com", "Secret", "shop", "Secret.ecr.example.com/shop/a"),
        ("apps", "Deployment", "shop", "Deployment.apps/shop/a"),
        ("rbac.authorization.k8s.io", "ClusterRole", "", "ClusterRole.rbac.authorization.k8s.io/a"),
    ],
)
def test_a_kind_that_another_group_may_have_is_named_with_its_group(
    group: str, kind: str, namespace: str, text: str
) -> None:
    assert str(ObjectKey(group, kind, namespace, "a")) == text


@given(key=st.text(), value=JSON)
def test_the_order_of_keys_does_not_matter(key: str, value: Any) -> None:
    one = {"kind": "K", key: value, "z": {"b": value, "a": 1}}
    other = dict(reversed([*one.items()]))
    assert Object.from_manifest(one) == Object.from_manifest(other)


@given(manifest=st.dictionaries(st.sampled_from(["apiVersion", "kind", "metadata", "spec"]), JSON))
def test_a_head_can_be_read_from_anything(manifest: dict[str, Any]) -> None:
    one = Object.from_manifest(manifest)
    assert all(isinstance(part, str) for part in (*one.head.gvk, one.head.namespace, one.head.name))
    assert one.manifest() == manifest


def test_names_that_are_no_strings_read_as_empty() -> None:
    one = Object.from_manifest({"apiVersion": 1, "kind": None, "metadata": {"name": ["a"], "namespace": 3}})
    assert one.head == Head(gvk=GroupVersionKind("", "", ""), namespace="", name="")


@pytest.mark.parametrize("value", ["\ud800", 2**64, -(2**63) - 1, {1: 2}, {"a": {1, 2}}], ids=repr)
def test_value_without_a_place_in_json_is_wrong_content(value: object) -> None:
    with pytest.raises(ContentError, match="cannot be written as JSON"):
        canonical_json(value)


def test_value_nested_too_deeply_is_wrong_content() -> None:
    deep: list[Any] = []
    for _ in range(2000):
        deep = [deep]
    with pytest.raises(ContentError):
        canonical_json(deep)


def test_every_process_writes_the_same_bytes() -> None:
    value = {"b": {"y": 1, "x": [1.5, None, "é"]}, "a": True}
    program = (
        "import json, sys; from rukpak_py.core.objects import canonical_json;"
        "sys.stdout.buffer.write(canonical_json(json.loads(sys.argv[1])))"
    )
    run = subprocess.run([sys.executable, "-c", program, json.dumps(value)], capture_output=True, check=True)
    assert run.stdout == canonical_json(value) == b'{"a":true,"b":{"x":[1.5,null,"\xc3\xa9"],"y":1}}'


def test_canonical_json_keeps_no_room_that_it_does_not_need() -> None:
    """The renderings of all deployments are kept in this form, and the library's own has ten times its size."""
    value = {"data": {"key": "x" * 600}}
    tracemalloc.start()
    try:
        kept = [canonical_json(value) for _ in range(100)]
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 1.5 * sum(map(len, kept))

"""Objects of the API server's own kinds: fields that their types do not declare, and integers that do not fit."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.formats.builtin_types import MOST, checked
from rukpak_py.formats.rules import path_text
from rukpak_py.formats.type_defects import RANGES

Json = dict[str, Any]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 70), 1 << 70) | st.floats() | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=8,
)


def service(**spec: Any) -> Json:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}


def schema(**fields: Any) -> Json:
    version = {"name": "v1", "schema": {"openAPIV3Schema": fields}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "c"},
        "spec": {"versions": [version]},
    }


SCHEMA: Path = ("spec", "versions", 0, "schema", "openAPIV3Schema")


@pytest.mark.parametrize(
    ("manifest", "undeclared"),
    [
        (service(type="ClusterIP", ports=[{"port": 80, "targetPort": "http"}]), []),
        ({**service(), "nonsense": None}, [("nonsense",)]),
        ({**service(), "metadata": {"name": "s", "Labels": {}}}, [("metadata", "Labels")]),
        ({**service(), "metadata": {"name": "s", "labels": {"any": "key"}}}, []),
        (service(Type="x", ports=[{"port": 80}, {"prot": 1}]), [("spec", "Type"), ("spec", "ports", 1, "prot")]),
        ({**service(), "status": {"nonsense": 1}}, []),
        (service(ports="no list"), []),
        (service(ports=[None, 5, {"x": 1}]), [("spec", "ports", 2, "x")]),
        ({**service(), "apiVersion": "serving.knative.dev/v1", "more": 1}, []),
        ({**service(), "apiVersion": 1, "kind": None}, []),
        (schema(items={"x": 1}), [(*SCHEMA, "items", "x")]),
        (schema(items=[{"x": 1}]), [(*SCHEMA, "items", 0, "x")]),
        (schema(properties={"x": {"additionalProperties": {"y": 1}}}),
         [(*SCHEMA, "properties", "x", "additionalProperties", "y")]),
        (schema(additionalProperties=True, default={"x": 1}, example=[{"x": 1}], enum=[{"x": 1}]), []),
    ],
)  # fmt: skip
def test_fields_that_the_type_does_not_declare(manifest: Json, undeclared: list[Path]) -> None:
    assert checked(manifest).undeclared == undeclared


def test_undeclared_fields_are_left_out_and_nothing_else_changes() -> None:
    manifest = {**service(Type="x", ports=[{"port": 80, "prot": 1}], selector={"a": "b"}), "status": {"x": 1}}
    assert checked(manifest).manifest == {**service(ports=[{"port": 80}], selector={"a": "b"}), "status": {"x": 1}}
    assert manifest["spec"]["Type"] == "x"


@pytest.mark.parametrize(
    ("manifest", "messages"),
    [
        (service(ports=[{"port": 80}, {"port": -(1 << 31)}, {"port": (1 << 31) - 1}]), []),
        (service(ports=[{"port": 1 << 31}]),
         ["spec.ports[0].port must be an integer of 32 bits, got number 2147483648"]),
        (service(ports=[{"port": 1e30}]), ["spec.ports[0].port must be an integer of 32 bits, got number 1e+30"]),
        (service(ports=[{"targetPort": 1 << 32}]),
         ["spec.ports[0].targetPort must be an integer of 32 bits, got number 4294967296"]),
        (service(ports=[{"port": True}, {"port": 1.5}, {"port": "9999999999"}, {"port": float("inf")}]), []),
        (service(nonsense={"port": 1 << 40}), []),
        (schema(maxLength=1 << 62, default=1 << 63), []),
        (schema(maxLength=1 << 63),
         [f"{path_text(SCHEMA)}.maxLength must be an integer of 64 bits, got number 9223372036854775808"]),
    ],
)  # fmt: skip
def test_integers_that_do_not_fit(manifest: Json, messages: list[str]) -> None:
    assert [overflow.message for overflow in checked(manifest).overflows] == messages


def test_the_advice_names_the_range() -> None:
    (overflow,) = checked(service(ports=[{"port": 1 << 40}])).overflows
    assert RANGES[overflow.wanted] == "Write a number from -2147483648 to 2147483647."


def test_a_claim_within_a_stateful_set_may_have_a_status() -> None:
    """Tools export it so, and the server takes it."""
    claim = {"metadata": {"name": "data"}, "spec": {}, "status": {"phase": "Pending"}}
    manifest = {"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {"volumeClaimTemplates": [claim]}}
    assert checked(manifest).undeclared == []


def test_a_hostile_object_fills_no_memory() -> None:
    found = checked(service(**{f"x{number}": 1 for number in range(5000)}, ports=[{"port": 1 << 40}] * 5000))
    assert (len(found.undeclared), len(found.overflows)) == (MOST, MOST)
    assert set(found.manifest["spec"]) == {"ports"}


@pytest.mark.parametrize("name", ["not", "items", "additionalProperties"])
def test_depth_that_the_yaml_reader_allows_is_checked(name: str) -> None:
    value: Json = {"unknown": 1}
    for _ in range(DEFAULT_LIMITS.yaml_depth):
        value = {name: value}
    assert len(checked(schema(**value)).undeclared) == 1


@given(
    st.dictionaries(st.sampled_from(["metadata", "spec", "status", "data"]), JSON), st.sampled_from(["Pod", "Secret"])
)
def test_remaining_fields_are_all_declared(fields: Json, kind: str) -> None:
    found = checked({"apiVersion": "v1", "kind": kind, **fields})
    again = checked(found.manifest)
    assert again.undeclared == []
    assert repr(again.manifest) == repr(found.manifest)

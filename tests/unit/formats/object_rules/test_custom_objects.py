"""Custom resources beside the CRDs of the same bundle."""

from typing import Any

import pytest

from rukpak_py.core.findings import Severity
from tests.unit.formats.object_rules.judging import Json, findings_of, manifest, told

_SIZE = {"type": "integer", "minimum": 1}
SCHEMA: Json = {
    "type": "object",
    "required": ["spec"],
    "properties": {"spec": {"type": "object", "required": ["size"], "properties": {"size": _SIZE}}},
}


def definition(*versions: Json) -> Json:
    one = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
    names = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [one, *versions]}
    return manifest("CustomResourceDefinition", "gadgets.example.com", "apiextensions.k8s.io/v1", spec=spec)


def gadget(spec: Any, version: str = "v1", group: str = "example.com") -> Json:
    return manifest("Gadget", "one", f"{group}/{version}", spec=spec)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        (gadget({"size": 1}), ""),
        (gadget({"size": 1, "sizes": 2}), "Gadget one: spec.sizes is not declared in the schema"),
        (gadget({"size": "1"}), "Gadget one: spec.size must be of type integer"),
        (gadget({"size": 0}), "Gadget one: spec.size must be at least 1"),
        (gadget({}), "Gadget one: spec.size is required"),
        (gadget({}, group="other.example.com"), ""),
        (
            gadget({}, version="v2"),
            "example.com/v2 is not served by the CRD in the bundle, which serves example.com/v1",
        ),
        (
            gadget({}, version="v0"),
            "example.com/v0 is not served by the CRD in the bundle, which serves example.com/v1",
        ),
    ],
)
def test_an_object_fits_the_crd_of_its_kind(given: Json, wrong: str) -> None:
    crd = definition({"name": "v0", "served": False, "storage": False, "schema": {"openAPIV3Schema": SCHEMA}})
    found = [(one.severity, one.message) for one in findings_of(given, crd) if one.rule == "OBJ-020"]
    assert found == ([(Severity.ERROR, wrong)] if wrong else [])


def test_without_a_crd_nothing_is_told_of_an_object() -> None:
    assert told("OBJ-020", gadget({})) == []


def test_an_object_of_a_version_without_a_schema_is_not_judged() -> None:
    crd = definition({"name": "v2", "served": True, "storage": False})
    assert told("OBJ-020", gadget({}, version="v2"), crd) == []


_NULLABLE = {"type": "string", "nullable": True}


@pytest.mark.parametrize(
    ("schema", "spec", "wrong"),
    [
        ({"required": ["size"], "properties": {"size": _NULLABLE}}, {"size": None}, ""),
        ({"required": ["a"], "additionalProperties": _NULLABLE}, {"a": None}, ""),
        ({"required": ["size"], "properties": {"size": _SIZE}}, {"size": None}, "spec.size is required"),
        ({"properties": {"size": _SIZE}}, {"size": None}, ""),
    ],
)
def test_null_is_kept_where_it_is_nullable(schema: Json, spec: Json, wrong: str) -> None:
    crd = definition()
    versions = crd["spec"]["versions"]
    whole = {"type": "object", "properties": {"spec": {"type": "object", **schema}}}
    versions[0] = {**versions[0], "schema": {"openAPIV3Schema": whole}}
    assert told("OBJ-020", gadget(spec), crd) == ([f"Gadget one: {wrong}"] if wrong else [])


def test_an_object_of_a_crd_that_no_server_takes_is_not_judged() -> None:
    old = {**definition(), "apiVersion": "apiextensions.k8s.io/v1beta1"}
    del old["spec"]["versions"]
    assert told("OBJ-020", gadget({"size": 1}), old) == []

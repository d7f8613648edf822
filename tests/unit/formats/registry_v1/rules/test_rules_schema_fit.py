"""Examples beside the schemas of the bundle's own CRDs."""

import json
from typing import Any

import pytest

from rukpak_py.content.tree import Tree
from rukpak_py.core.findings import Severity
from rukpak_py.formats.validation import validate
from tests.unit.bundles import Json, bundle, crd, csv_document, manifest

SCHEMA: Json = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1},
                "mode": {"type": "string", "enum": ["a", "b"]},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        },
        "status": {"type": "object", "required": ["phase"]},
    },
}


def definition(schema: Json = SCHEMA, **version: Any) -> Json:
    one = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    return crd(versions=[one])


def demo(spec: Any, **more: Any) -> Json:
    return manifest("Demo", "d", api_version="demo.example.com/v1", **({} if spec is None else {"spec": spec}), **more)


def examples(*objects: Json, **version: Any) -> list[tuple[str, Severity, str]]:
    csv = csv_document(annotations={"alm-examples": json.dumps(objects)})
    return told(bundle(csv=csv, crds=[definition(**version)]))


def told(tree: Tree) -> list[tuple[str, Severity, str]]:
    found = [one for one in validate(tree) if one.rule == "RV1-980"]
    return [(one.rule, one.severity, one.message) for one in found]


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        (demo({"size": 1}), ""),
        (demo({"size": 1, "mode": "a", "free": {"x": [1]}}), ""),
        (demo({"size": 1, "mode": None}), ""),  # dropped by the server
        (demo({"size": "1"}), "spec.size must be of type integer"),
        (demo({"size": 0}), "spec.size must be at least 1"),
        (demo({"size": 1, "mode": "c"}), "spec.mode must be one of a, b"),
        (demo({"size": 1, "sizes": 2}), "spec.sizes is not declared in the schema"),
        (demo({}), "spec.size is required"),
        (demo(None), "spec is required"),
        (demo({"size": 1}, status={}), "status.phase is required"),
        ({**demo({}), "apiVersion": "demo.example.com/v2"}, ""),  # of another rule
        ({**demo({}), "kind": "Other"}, ""),
    ],
)
def test_an_example_fits_its_schema(given: Json, wrong: str) -> None:
    message = f"the example of Demo (demo.example.com/v1) d: {wrong}"
    assert examples(given) == ([("RV1-980", Severity.WARNING, message)] if wrong else [])


def test_status_of_an_example_is_nothing_where_it_is_a_subresource() -> None:
    assert examples(demo({"size": 1}, status={}), subresources={"status": {}}) == []


def test_examples_that_cannot_be_read_are_told_elsewhere() -> None:
    for text in ("[", "5", '["a"]', "1e999"):
        csv = csv_document(annotations={"alm-examples": text})
        assert told(bundle(csv=csv, crds=[definition()])) == []

"""Suggestions for fields that no type declares."""

from typing import Any

import pytest

from rukpak_py.formats.documents import Document
from rukpak_py.formats.unknown_fields import UnknownField

DEPLOYMENT = "apps/v1/Deployment"
CONTAINERS = ("spec", "template", "spec", "containers")


def around(path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    for part in reversed(path):
        value = [*[{}] * part, value] if isinstance(part, int) else {part: value}
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize(
    ("type_name", "path", "siblings", "near"),
    [
        (DEPLOYMENT, ("spec", "replica"), {}, "replicas"),
        (DEPLOYMENT, ("spec", "Replicas"), {}, "replicas"),
        (DEPLOYMENT, ("spec", "replica"), {"replicas": 1}, ""),
        (DEPLOYMENT, ("spec", "colour"), {}, ""),
        (DEPLOYMENT, ("metadata", "lables"), {}, "labels"),
        (DEPLOYMENT, ("sepc",), {}, "spec"),
        (DEPLOYMENT, (*CONTAINERS, 1, "imagePulPolicy"), {}, "imagePullPolicy"),
        (DEPLOYMENT, (*CONTAINERS, 0, "env", 0, "valeFrom"), {}, "valueFrom"),
        ("v1/ConfigMap", ("dta",), {}, "data"),
        (
            "CustomResourceDefinition",
            ("spec", "versions", 0, "schema", "openAPIV3Schema", "properties", "size", "items", "minimun"),
            {},
            "minimum",
        ),
        ("ClusterServiceVersion", ("spec", "miniKubeVersion"), {}, "minKubeVersion"),
    ],
)
def test_near_field_is_suggested(
    type_name: str, path: tuple[str | int, ...], siblings: dict[str, Any], near: str
) -> None:
    manifest = around(path[:-1], {path[-1]: "x", **siblings})
    problem = UnknownField(Document(file="manifests/a.yaml", index=0, manifest=manifest), path, type_name).problem()
    assert problem.hint == (f"Did you mean `{near}`?" if near else None)
    assert (problem.fix.text if problem.fix is not None else "") == near


def test_two_names_of_one_field_are_not_corrected() -> None:
    """Both would become the same key, of which one value is lost."""
    manifest = {"spec": {"replicsa": 1, "replicass": 2, "colour": "x"}}
    document = Document(file="manifests/a.yaml", index=0, manifest=manifest)
    for name in ("replicsa", "replicass"):
        problem = UnknownField(document, ("spec", name), DEPLOYMENT).problem()
        assert (problem.hint, problem.fix) == ("Did you mean `replicas`?", None)

"""A small bundle as a directory: a CSV that owns one kind, its definition, and annotations; parts can be changed."""

import json
from collections.abc import Mapping
from typing import Any

PREFIX = "operators.operatorframework.io.bundle."
IMAGE = "example.com/demo:1.2.3"
CRD_VERSION = "apiextensions.k8s.io/v1"


def csv(*, annotations: Mapping[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """`spec`: fields instead of those that the CSV has; None: without the field."""
    containers = [{"name": "manager", "image": IMAGE}]
    deployment = {"name": "demo", "spec": {"template": {"spec": {"containers": containers}}}}
    fields = {
        "displayName": "Demo",
        "version": "1.2.3",
        "customresourcedefinitions": {"owned": [{"name": "demos.example.com", "version": "v1", "kind": "Demo"}]},
        "install": {"strategy": "deployment", "spec": {"deployments": [deployment]}},
        **spec,
    }
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "demo.v1.2.3", "annotations": {"a": "<b>", **(annotations or {})}},
        "spec": {name: value for name, value in fields.items() if value is not None},
    }


def crd(api_version: str = CRD_VERSION, versions: tuple[str, ...] = ("v1",), **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": api_version,
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "demos.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Demo", "plural": "demos"},
            "versions": [{"name": name} for name in versions],
            **spec,
        },
    }


def annotations(package: str = "demo") -> dict[str, Any]:
    return {"annotations": {f"{PREFIX}package.v1": package, f"{PREFIX}channels.v1": "stable"}}


def directory(csv_of_bundle: dict[str, Any] | None = None, **files: Any) -> dict[str, bytes]:
    """The files of the bundle; metadata__x stands for metadata/x.yaml. A file is an object, text, or None for none."""
    objects = {
        "manifests/csv.yaml": csv_of_bundle or csv(),
        "manifests/crd.yaml": crd(),
        "metadata/annotations.yaml": annotations(),
    }
    objects |= {f"{name.replace('__', '/')}.yaml": content for name, content in files.items()}
    return {path: _bytes(content) for path, content in objects.items() if content is not None}


def _bytes(content: Any) -> bytes:
    return content.encode() if isinstance(content, str) else json.dumps(content).encode()

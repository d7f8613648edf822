"""Nulls and empty maps: absence in a built-in kind, the zero value as an entry, a value in a custom resource."""

from typing import Any

import pytest

from rukpak_py.apply.normalise import normalise
from rukpak_py.core.errors import ContentError


def normal(manifest: dict[str, Any]) -> dict[str, Any]:
    head = {"metadata": {"name": "x", "namespace": "shop"}}
    result = normalise({**head, **manifest}, namespaced=True, default_namespace="shop").manifest
    return {key: value for key, value in result.items() if key not in {"apiVersion", "kind", "metadata"}}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"spec": {"replicas": None}}, {"spec": {}}),
        ({"spec": None}, {}),
        ({"spec": {"template": {"spec": {"nodeSelector": None}}}}, {"spec": {"template": {"spec": {}}}}),
        (
            {"spec": {"template": {"spec": {"nodeSelector": {"disk": None}}}}},
            {"spec": {"template": {"spec": {"nodeSelector": {"disk": ""}}}}},
        ),
        ({"spec": {"selector": {"matchLabels": {"a": None}}}}, {"spec": {"selector": {"matchLabels": {"a": ""}}}}),
        ({"spec": {"selector": {"matchExpressions": None}}}, {"spec": {"selector": {}}}),
        (
            {"spec": {"template": {"metadata": {"annotations": {}}, "spec": {"nodeSelector": {}, "affinity": {}}}}},
            {"spec": {"template": {"metadata": {}, "spec": {"affinity": {}}}}},  # a structure is no map
        ),
        (
            {"spec": {"template": {"spec": {"containers": [{"name": "c", "env": None, "args": [None, "a"]}]}}}},
            {"spec": {"template": {"spec": {"containers": [{"name": "c", "args": [None, "a"]}]}}}},
        ),
        (
            {"spec": {"template": {"spec": {"containers": [{"resources": {"limits": {"cpu": None}}}]}}}},
            {"spec": {"template": {"spec": {"containers": [{"resources": {"limits": {"cpu": "0"}}}]}}}},
        ),
    ],
)
def test_nulls_of_a_deployment_are_dropped(given: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert normal({"apiVersion": "apps/v1", "kind": "Deployment", **given}) == wanted


@pytest.mark.parametrize("field", ["data", "binaryData"])
def test_a_null_value_of_a_config_map_is_the_empty_text_as_in_a_post(field: str) -> None:
    assert normal({"apiVersion": "v1", "kind": "ConfigMap", field: {"a": None}}) == {field: {"a": ""}}


def test_the_selector_of_a_service_is_a_map() -> None:
    # dropping the key would make the Service select more Pods
    assert normal({"apiVersion": "v1", "kind": "Service", "spec": {"selector": {"app": None}}}) == {
        "spec": {"selector": {"app": ""}}
    }


def test_a_null_quota_forbids_as_in_a_post() -> None:
    assert normal({"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": {"pods": None}}}) == {
        "spec": {"hard": {"pods": "0"}}
    }


def test_the_schema_of_a_crd_keeps_its_nulls() -> None:
    schema = {"type": "string", "nullable": True, "enum": ["a", None], "example": {"a": None}}
    spec = {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}, "deprecationWarning": None}]}
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    assert normal(crd) == {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}}


@pytest.mark.parametrize("group", ["shop.test", "gateway.networking.k8s.io", "metrics.k8s.io"])
def test_a_custom_resource_keeps_its_nulls(group: str) -> None:
    spec = {"size": None, "labels": {"a": None}, "annotations": {}}
    assert normal({"apiVersion": f"{group}/v1", "kind": "Shop", "spec": spec}) == {"spec": spec}


def test_revision_data_keeps_its_nulls() -> None:
    data = {"spec": {"a": None}}
    assert normal({"apiVersion": "apps/v1", "kind": "ControllerRevision", "data": data}) == {"data": data}


@pytest.mark.parametrize("wrap", [lambda inner: {"a": inner}, lambda inner: [inner]])
def test_endless_nesting_is_refused(wrap: Any) -> None:
    value: Any = "x"
    for _ in range(5000):  # far beyond what the interpreter could follow
        value = wrap(value)
    with pytest.raises(ContentError, match=r"^Deployment.apps/shop/x: is nested too deeply$"):
        normal({"apiVersion": "apps/v1", "kind": "Deployment", "spec": value if isinstance(value, dict) else [value]})

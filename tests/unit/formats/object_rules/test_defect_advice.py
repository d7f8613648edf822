"""Advice and corrections of defects, and values that no message shows."""

from typing import Any

import pytest

from rukpak_py.core.findings import Fix
from rukpak_py.formats.object_rules.defects import of_object
from rukpak_py.formats.object_rules.parts import Sort

SERVICE: dict[str, Any] = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}
CONTAINER: dict[str, Any] = {"name": "main", "image": "registry.example.com/web:1"}
SECRET: dict[str, Any] = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}}


def pod(**fields: object) -> dict[str, Any]:
    return {**SERVICE, "kind": "Pod", "spec": {"containers": [{**CONTAINER, **fields}]}}


@pytest.mark.parametrize(
    ("spec", "right"),
    [
        ({"ports": [{"port": 80, "protocol": "tcp"}]}, "TCP"),
        ({"ports": [{"port": 80, "protocol": "tpc"}]}, ""),
        ({"type": "clusterip", "ports": [{"port": 80}]}, "ClusterIP"),
        ({"type": "LOADBALANCER", "ports": [{"port": 80}]}, "LoadBalancer"),
        ({"type": "ClusterIpp", "ports": [{"port": 80}]}, ""),
    ],
)
def test_value_of_another_case_is_corrected(spec: dict[str, Any], right: str) -> None:
    (defect,) = [one for one in of_object({**SERVICE, "spec": spec}) if one.sort is Sort.CHOICE]
    assert (defect.fix.text if defect.fix is not None else "") == right
    assert defect.hint == f"Did you mean {right}?" or not right


@pytest.mark.parametrize("name", ["memry", "Memory", "meomry"])
@pytest.mark.parametrize("field", ["limits", "requests"])
def test_misspelt_resource_is_told_once_and_corrected(field: str, name: str) -> None:
    (defect,) = of_object(pod(resources={field: {name: "1Gi"}}))
    assert defect.hint == "Did you mean `memory`?"
    assert defect.fix == Fix(text="memory")


@pytest.mark.parametrize("field", ["data", "stringData"])
@pytest.mark.parametrize("value", ["hunter2!", 8675309, ["hunter2"]])
def test_values_of_a_secret_are_not_told(field: str, value: object) -> None:
    found = of_object({**SECRET, field: {"password": value}})
    told = " ".join(f"{one.message} {one.hint}" for one in found)
    assert ("password" in told) == (field == "data" or not isinstance(value, str))
    assert "hunter2" not in told
    assert "8675309" not in told


@pytest.mark.parametrize(
    ("manifest", "advice"),
    [
        (pod(env=[{"name": "PORT", "value": 8080}]), "Put the value in quotes."),
        (pod(stdin="true"), "Remove the quotes."),
        (pod(stdin="False"), "Write true or false."),
        (pod(command="ls"), "Write a list: begin each entry with `- `."),
        (pod(resources={"limits": {"cpu": "100mm"}}), "Write a number with or without a suffix: 500m, 2, 64Mi, 1.5Gi."),
        ({**SECRET, "data": {"a": "hunter2!"}}, "Encode the value as base64, or move it to `stringData`."),
    ],
)
def test_advice_fits_the_type_of_the_field(manifest: dict[str, Any], advice: str) -> None:
    (defect,) = [one for one in of_object(manifest) if one.sort is Sort.TYPE]
    assert defect.hint == advice

"""Members that no Go type knows, values too deep, and what is shared."""

from typing import Any

import pytest

from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.formats.go_types.restore import restore

POD = {"containers": [{"name": "c", "Name": "C", "resources": {}, "newField": {"a": None}}], "newField": 0}
UNKNOWN: list[Path] = [("containers", 0, "Name"), ("containers", 0, "newField"), ("newField",)]


def restored(value: Any, type_name: str, *, keep_unknown: bool) -> tuple[Any, list[Path]]:
    unknown: list[Path] = []
    return restore(value, type_name, keep_unknown=keep_unknown, defects=[], unknown=unknown), unknown


def test_unknown_members_go_and_are_told() -> None:
    pod, unknown = restored(POD, "PodSpec", keep_unknown=False)
    assert pod == {"containers": [{"name": "c", "resources": {}}]}
    assert unknown == UNKNOWN


def test_unknown_members_stay_as_they_are_when_they_shall_and_are_told_too() -> None:
    assert restored(POD, "PodSpec", keep_unknown=True) == (POD, UNKNOWN)


def test_unknown_members_of_a_schema_inside_a_schema_stay_too() -> None:
    schema = {"items": {"type": "string", "x-new": True}}
    assert restored(schema, "JSONSchemaProps", keep_unknown=True) == (schema, [("items", "x-new")])


@pytest.mark.parametrize("keep_unknown", [True, False])
def test_a_policy_rule_never_keeps_what_it_does_not_know(*, keep_unknown: bool) -> None:
    rules, unknown = restored([{"verbs": ["get"], "Resources": ["pods"]}], "[]PolicyRule", keep_unknown=keep_unknown)
    assert rules == [{"verbs": ["get"]}]
    assert unknown == [(0, "Resources")]


def test_of_a_cluster_service_version_only_pods_keep_what_they_do_not_know() -> None:
    template = {"new": 1, "metadata": {"new": 1}, "spec": {"new": 1, "containers": [{"name": "c", "new": 1}]}}
    deployment = {"new": 1, "name": "d", "spec": {"new": 1, "template": template}}
    webhook = {"new": 1, "rules": [{"new": 1, "scope": "*"}], "objectSelector": {"new": 1}}
    spec = {"webhookdefinitions": [webhook], "install": {"strategy": "s", "spec": {"deployments": [deployment]}}}
    csv, unknown = restored({"spec": spec}, "ClusterServiceVersion", keep_unknown=True)
    assert len(unknown) == 9
    pods = csv["spec"]["install"]["spec"]["deployments"][0]["spec"]["template"]["spec"]
    assert pods == {"new": 1, "containers": [{"name": "c", "new": 1, "resources": {}}]}
    assert str(csv).count("'new'") == 2
    assert csv["spec"]["webhookdefinitions"][0]["rules"] == [{"scope": "*"}]


def test_a_hostile_document_fills_no_memory_with_its_unknown_members() -> None:
    _, unknown = restored({str(number): 1 for number in range(5000)}, "PodSpec", keep_unknown=False)
    assert len(unknown) == 1000


def nested(depth: int, name: str) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {name: value}
    return value


@pytest.mark.parametrize("name", ["not", "items", "additionalProperties"])
def test_whatever_the_yaml_reader_lets_through_is_decoded(name: str) -> None:
    schema = nested(DEFAULT_LIMITS.yaml_depth, name)
    assert restored(schema, "JSONSchemaProps", keep_unknown=False) == (schema, [])


@pytest.mark.parametrize("name", ["not", "items"])
def test_schema_nested_too_deeply_is_refused(name: str) -> None:
    with pytest.raises(ContentError, match="JSONSchemaProps"):
        restored(nested(5000, name), "JSONSchemaProps", keep_unknown=False)


def test_the_value_itself_is_never_changed() -> None:
    value = {"containers": [{"env": [{"value": "x"}], "image": ""}], "hostNetwork": False}
    restored(value, "PodSpec", keep_unknown=False)
    assert value == {"containers": [{"env": [{"value": "x"}], "image": ""}], "hostNetwork": False}

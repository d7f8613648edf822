"""Names by which objects of a bundle refer to each other, and slips of them."""

from typing import Any

import pytest

from rukpak_py.formats.object_rules.spelling import is_slip
from tests.unit.formats.object_rules.judging import Json, deployment, findings_of, manifest, told

RBAC = "rbac.authorization.k8s.io/v1"


@pytest.mark.parametrize(
    ("one", "other", "is_told"),
    [
        ("web-config", "web-confg", True),
        ("web-config", "web-confgi", True),
        ("web-config", "web-konfig", True),
        ("web-config", "web-configs", True),
        ("web", "wbe", True),
        ("web-config", "web-config", False),
        ("web-config", "web-secret", False),
        ("web-1", "web-2", False),
        ("web1", "web2", False),
        ("db-a", "db-b", False),
        ("a", "b", False),
        ("web", "web-0", False),
    ],
)
def test_a_slip_is_one_letter_that_names_nothing_by_itself(one: str, other: str, *, is_told: bool) -> None:
    assert is_slip(one, other) is is_told
    assert is_slip(other, one) is is_told


def pods(**spec: Any) -> Json:
    return deployment({"containers": [{"name": "c", "image": "a"}], **spec})


def container(**fields: Any) -> Json:
    return deployment({"containers": [{"name": "c", "image": "a", **fields}]})


def variable(field: str, **source: Any) -> list[Json]:
    return [{"name": "A", "valueFrom": {field: source}}]


def binding(role: Json, *subjects: Json) -> Json:
    return manifest("RoleBinding", "b", RBAC, roleRef={"kind": "Role", "name": "x", **role}, subjects=list(subjects))


_TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "galery"}


@pytest.mark.parametrize(
    ("one", "kind", "api_version", "path"),
    [
        (pods(serviceAccountName="galery"), "ServiceAccount", "v1", "serviceAccountName"),
        (pods(imagePullSecrets=[{"name": "galery"}]), "Secret", "v1", "imagePullSecrets[0].name"),
        (
            pods(volumes=[{"name": "v", "configMap": {"name": "galery"}}]),
            "ConfigMap",
            "v1",
            "volumes[0].configMap.name",
        ),
        (pods(volumes=[{"name": "v", "secret": {"secretName": "galery"}}]), "Secret", "v1", "secret.secretName"),
        (
            pods(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "galery"}}]),
            "PersistentVolumeClaim",
            "v1",
            "persistentVolumeClaim.claimName",
        ),
        (container(env=variable("secretKeyRef", name="galery")), "Secret", "v1", "env[0].valueFrom.secretKeyRef.name"),
        (container(envFrom=[{"configMapRef": {"name": "galery"}}]), "ConfigMap", "v1", "envFrom[0].configMapRef.name"),
        (binding({"name": "galery"}), "Role", RBAC, "roleRef.name"),
        (binding({}, {"kind": "ServiceAccount", "name": "galery"}), "ServiceAccount", "v1", "subjects[0].name"),
        (manifest("StatefulSet", "s", "apps/v1", spec={"serviceName": "galery"}), "Service", "v1", "spec.serviceName"),
        (
            manifest("HorizontalPodAutoscaler", "h", "autoscaling/v2", spec={"scaleTargetRef": _TARGET}),
            "Deployment",
            "apps/v1",
            "spec.scaleTargetRef.name",
        ),
        (
            manifest("Ingress", "i", "networking.k8s.io/v1", spec={"defaultBackend": {"service": {"name": "galery"}}}),
            "Service",
            "v1",
            "spec.defaultBackend.service.name",
        ),
    ],
)
def test_a_slip_of_a_name_comes_with_the_right_one(one: Json, kind: str, api_version: str, path: str) -> None:
    meant = manifest(kind, "gallery", api_version)
    (found,) = [finding for finding in findings_of(one, meant) if finding.rule == "OBJ-023"]
    assert (found.message, found.hint) == (f"there is no {kind} 'galery' in the bundle", "Did you mean `gallery`?")
    assert found.path.endswith(path)


@pytest.mark.parametrize(
    "others",
    [
        [],
        [manifest("ConfigMap", "gallery")],
        [manifest("ServiceAccount", "gallery"), manifest("ServiceAccount", "galery")],
        [manifest("ServiceAccount", "gallery", namespace="there")],
        [manifest("ServiceAccount", "garden")],
        [manifest("ServiceAccount", "gallery"), binding({}, {"kind": "ServiceAccount", "name": "gallery"})],
    ],
)
def test_a_name_of_another_object_is_no_slip(others: list[Json]) -> None:
    """Also where something else refers to the object of almost the same name: both exist then."""
    one = deployment({"containers": [{"name": "c", "image": "a"}], "serviceAccountName": "galery"}, namespace="here")
    assert told("OBJ-023", one, *others) == []


@pytest.mark.parametrize(
    ("source", "is_told"),
    [
        ({"name": "s", "key": "a"}, False),
        ({"name": "s", "key": "c"}, True),
        ({"name": "s", "key": "c", "optional": True}, False),
        ({"name": "t", "key": "c"}, False),
    ],
)
@pytest.mark.parametrize(
    ("field", "holder"),
    [
        ("secretKeyRef", manifest("Secret", "s", data={"a": ""}, stringData={"b": ""})),
        ("configMapKeyRef", manifest("ConfigMap", "s", data={"a": ""})),
    ],
)
def test_a_key_that_a_container_needs_is_there(field: str, holder: Json, source: Json, *, is_told: bool) -> None:
    message = f"{holder['kind']} 's' has no key 'c': the container does not start"
    assert told("OBJ-024", container(env=variable(field, **source)), holder) == ([message] if is_told else [])


def test_keys_of_an_empty_object_come_later() -> None:
    one = container(env=variable("secretKeyRef", name="s", key="c"))
    assert told("OBJ-024", one, manifest("Secret", "s")) == []


def selecting(kind: str, api_version: str, selector: Json) -> Json:
    spec = {"selector": selector} if kind == "Service" else {"selector": {"matchLabels": selector}}
    spec = {"podSelector": {"matchLabels": selector}} if kind == "NetworkPolicy" else spec
    return manifest(kind, "x", api_version, spec=spec)


@pytest.mark.parametrize(
    ("kind", "api_version"),
    [("Service", "v1"), ("PodDisruptionBudget", "policy/v1"), ("NetworkPolicy", "networking.k8s.io/v1")],
)
@pytest.mark.parametrize(
    ("selector", "wrong"),
    [
        ({"app": "demo"}, None),
        ({"app": "dmeo"}, "app: dmeo"),
        ({"app": "other"}, None),
        ({"app": "dmeo", "tier": "web"}, None),
        ({}, None),
    ],
)
def test_a_slip_in_a_selector_is_told(kind: str, api_version: str, selector: Json, wrong: str | None) -> None:
    found = told("OBJ-025", pods(), selecting(kind, api_version, selector))
    assert found == ([f"{wrong} selects no pods of the bundle"] if wrong else [])


def test_a_selector_of_some_pods_is_no_slip_of_others() -> None:
    other = deployment({"containers": [{"name": "c", "image": "a"}]}, name="dmeo")
    assert told("OBJ-025", pods(), other, selecting("Service", "v1", {"app": "dmeo"})) == []

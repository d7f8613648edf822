"""Names of ports in probes and Services, beside those that containers have."""

import pytest

from rukpak_py.core.findings import Severity
from tests.unit.formats.object_rules.judging import Json, deployment, findings_of, manifest, told

PORTS = [{"name": "http", "containerPort": 8080}, {"containerPort": 9090}]
_OF_SERVICE = "targetPort 'web' is not a port of the pods that the Service selects"


def running(container: Json, *others: Json, namespace: str = "") -> Json:
    containers = [{"name": "manager", "image": "a", "ports": PORTS, **container}, *others]
    return deployment({"containers": containers}, namespace=namespace)


@pytest.mark.parametrize(
    ("container", "called"),
    [
        ({"livenessProbe": {"httpGet": {"port": "http"}}}, None),
        ({"livenessProbe": {"httpGet": {"port": 8081}}}, None),
        ({"livenessProbe": {"httpGet": {"port": "8081"}}}, None),
        ({"livenessProbe": {"exec": {"command": ["a"]}}}, None),
        ({"livenessProbe": {"httpGet": {"port": "web"}}}, "livenessProbe"),
        ({"readinessProbe": {"tcpSocket": {"port": "web"}}}, "readinessProbe"),
        ({"startupProbe": {"httpGet": {"port": "web"}}, "ports": None}, "startupProbe"),
        ({"lifecycle": {"preStop": {"httpGet": {"port": "web"}}}}, "lifecycle.preStop"),
    ],
)
def test_a_probe_calls_a_port_of_its_own_container(container: Json, called: str | None) -> None:
    neighbour = {"name": "proxy", "image": "a", "ports": [{"name": "web", "containerPort": 80}]}
    found = [one for one in findings_of(running(container, neighbour)) if one.rule == "OBJ-014"]
    message = f"{called} of container 'manager' calls the port 'web', which the container does not have"
    expected = [] if called is None else [("OBJ-014", Severity.WARNING, message)]
    assert [(one.rule, one.severity, one.message) for one in found] == expected


def service(port: int | str | None, selector: Json | None, namespace: str = "") -> Json:
    spec = {"selector": selector, "ports": [{"port": 80, "targetPort": port}]}
    return manifest("Service", "s", namespace=namespace, spec=spec)


@pytest.mark.parametrize(
    ("other", "is_told"),
    [
        (service("web", {"app": "demo"}), True),
        (service("http", {"app": "demo"}), False),
        (service(1, {"app": "demo"}), False),
        (service("80", {"app": "demo"}), False),
        (service(None, {"app": "demo"}), False),
        (service("web", {"app": "other"}), False),
        (service("web", {"app": "demo", "tier": "a"}), False),
        (service("web", {}), False),
        (service("web", None), False),
        (service("web", {"app": "demo"}, "here"), True),
        (service("web", {"app": "demo"}, "there"), False),
        ({**service("web", {"app": "demo"}), "kind": "Other"}, False),
    ],
)
def test_a_service_leads_to_a_port_of_its_pods(other: Json, *, is_told: bool) -> None:
    assert told("OBJ-015", running({}, namespace="here"), other) == ([_OF_SERVICE] if is_told else [])


def test_one_of_the_selected_pods_has_the_port() -> None:
    containers = [{"name": "c", "image": "a", "ports": [{"name": "web", "containerPort": 80}]}]
    pod = manifest("Pod", "p", spec={"containers": containers})
    pod["metadata"]["labels"] = {"app": "demo"}
    assert told("OBJ-015", running({}), service("web", {"app": "demo"}), pod) == []


@pytest.mark.parametrize(
    ("port", "selector", "is_told"),
    [
        ("http", {"matchLabels": {"app": "demo"}}, False),
        ("web", {"matchLabels": {"app": "demo"}}, True),
        (80, {"matchLabels": {"app": "demo"}}, False),
        ("web", {"matchLabels": {"app": "other"}}, False),
        ("web", {"matchLabels": {"app": "demo"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}, False),
        ("web", {}, False),
    ],
)
def test_a_policy_allows_a_port_of_its_pods(port: int | str, selector: Json, *, is_told: bool) -> None:
    spec = {"podSelector": selector, "ingress": [{"ports": [{"port": port}]}]}
    policy = manifest("NetworkPolicy", "p", "networking.k8s.io/v1", spec=spec)
    message = "port 'web' is not a port of the pods that the NetworkPolicy selects"
    assert told("OBJ-026", running({}), policy) == ([message] if is_told else [])

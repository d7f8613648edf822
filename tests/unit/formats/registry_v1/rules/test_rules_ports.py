"""Names of ports in probes, Services and webhooks, beside those that containers have."""

import pytest

from rukpak_py.core.findings import Severity
from rukpak_py.formats.registry_v1.rules import port_names
from tests.unit.bundles import Json, bundle, csv_document, deployment, manifest, webhook
from tests.unit.readings import findings_of, told

PORTS = [{"name": "http", "containerPort": 8080}, {"containerPort": 9090}]
_OF_SERVICE = "targetPort 'web' is no port of the pods that the Service selects"
_OF_WEBHOOK = "targetPort 'web' of webhook 'w.demo.example.com' is no port of deployment 'demo-controller'"


def running(container: Json, *others: Json) -> Json:
    containers = [{"name": "manager", "image": "a", "ports": PORTS, **container}, *others]
    return csv_document(deployments=[deployment(containers=containers)])


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
    found = findings_of(bundle(csv=running(container, neighbour)), port_names.FAMILY)
    message = f"{called} of container 'manager' calls the port 'web', which the container does not have"
    expected = [] if called is None else [("RV1-978", Severity.WARNING, message)]
    assert [(one.rule, one.severity, one.message) for one in found] == expected


def service(port: int | str | None, selector: Json | None) -> Json:
    return manifest("Service", "s", spec={"selector": selector, "ports": [{"port": 80, "targetPort": port}]})


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
        ({**service("web", {"app": "demo"}), "kind": "Other"}, False),
    ],
)
def test_a_service_leads_to_a_port_of_its_pods(other: Json, *, is_told: bool) -> None:
    found = told(bundle(csv=running({}), others=[other]), port_names.FAMILY)
    assert found == ([("RV1-979", _OF_SERVICE)] if is_told else [])


def test_one_of_the_selected_pods_has_the_port() -> None:
    metadata = {"name": "p", "labels": {"app": "demo"}}
    containers = [{"name": "c", "image": "a", "ports": [{"name": "web", "containerPort": 80}]}]
    pod = {**manifest("Pod", "p", spec={"containers": containers}), "metadata": metadata}
    tree = bundle(csv=running({}), others=[service("web", {"app": "demo"}), pod])
    assert told(tree, port_names.FAMILY) == []


@pytest.mark.parametrize(
    ("fields", "is_told"),
    [
        ({"targetPort": "web"}, True),
        ({"targetPort": "http"}, False),
        ({"targetPort": 9443}, False),
        ({"targetPort": "9443"}, False),
        ({}, False),
        ({"targetPort": "web", "deployment_name": "another"}, False),
    ],
)
def test_a_webhook_leads_to_a_port_of_its_deployment(fields: Json, *, is_told: bool) -> None:
    csv = running({})
    csv["spec"]["webhookdefinitions"] = [webhook("w.demo.example.com", **fields)]
    assert told(bundle(csv=csv), port_names.FAMILY) == ([("RV1-979", _OF_WEBHOOK)] if is_told else [])

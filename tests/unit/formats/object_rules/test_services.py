"""Webhooks, API services, Ingresses and ServiceMonitors beside the Services that they call."""

from typing import Any

import pytest

from rukpak_py.core.findings import Severity
from tests.unit.formats.object_rules.judging import Json, deployment, findings_of, manifest, told

PODS = deployment({"containers": [{"name": "c", "image": "a"}]})


def service(name: str = "demo", namespace: str = "", **spec: Any) -> Json:
    ports = [{"name": "web", "port": 443, "targetPort": 8443}, {"name": "plain", "port": 80}]
    one = manifest("Service", name, namespace=namespace, spec={"ports": ports, **spec})
    one["metadata"]["labels"] = {"app": "demo"}
    return one


def webhook(called: Json | None, kind: str = "Validating") -> Json:
    client = {"url": "https://example.com"} if called is None else {"service": called}
    hook = {"name": "w.example.com", "clientConfig": client}
    return manifest(f"{kind}WebhookConfiguration", "w", "admissionregistration.k8s.io/v1", webhooks=[hook])


def conversion(called: Json) -> Json:
    spec = {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"service": called}}}}
    return manifest("CustomResourceDefinition", "a.example.com", "apiextensions.k8s.io/v1", spec=spec)


def api_service(called: Json) -> Json:
    return manifest("APIService", "v1.example.com", "apiregistration.k8s.io/v1", spec={"service": called})


@pytest.mark.parametrize(
    ("called", "is_told"),
    [
        ({"name": "demo", "namespace": "n"}, True),
        ({"name": "demo", "namespace": "n", "path": ""}, True),
        ({"name": "demo", "namespace": "n", "path": "/"}, False),
        (None, False),
    ],
)
@pytest.mark.parametrize("kind", ["Validating", "Mutating"])
def test_a_webhook_has_a_path(kind: str, called: Json | None, *, is_told: bool) -> None:
    message = "webhook 'w.example.com' has no path: the API server calls `/`"
    assert told("OBJ-019", webhook(called, kind)) == ([message] if is_told else [])


@pytest.mark.parametrize("calling", [webhook, conversion, api_service])
@pytest.mark.parametrize(
    ("called", "others", "message"),
    [
        ({"name": "demo", "namespace": "n"}, [PODS, service()], None),
        ({"name": "demo", "namespace": "n"}, [PODS, service(namespace="n")], None),
        (
            {"name": "demo", "namespace": "n"},
            [PODS, service(namespace="m")],
            "there is no Service n/demo in the bundle",
        ),
        ({"name": "else"}, [PODS, service()], "there is no Service else in the bundle"),
        ({"name": "else"}, [service()], None),  # the workload comes with another bundle
        ({"name": ""}, [PODS], None),
    ],
)
def test_a_called_service_is_in_the_bundle(calling: Any, called: Json, others: list[Json], message: str | None) -> None:
    found = [one for one in findings_of(calling(called), *others) if one.rule == "OBJ-021"]
    assert [(one.severity, one.message) for one in found] == ([(Severity.WARNING, message)] if message else [])


@pytest.mark.parametrize(
    ("calling", "is_told"),
    [
        (webhook({"name": "demo"}), False),  # 443 by default
        (webhook({"name": "demo", "port": 80}), False),
        (webhook({"name": "demo", "port": 8443}), True),
        (conversion({"name": "demo", "port": 8443}), True),
        (api_service({"name": "demo", "port": 8443}), True),
        (webhook({"name": "else", "port": 8443}), False),
    ],
)
def test_a_called_port_is_one_of_the_service(calling: Json, *, is_told: bool) -> None:
    expected = ["port 8443 is not a port of Service demo"] if is_told else []
    assert told("OBJ-022", calling, service()) == expected


def ingress(port: Json, name: str = "demo") -> Json:
    paths = [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": name, "port": port}}}]
    spec = {"rules": [{"http": {"paths": paths}}]}
    return manifest("Ingress", "i", "networking.k8s.io/v1", spec=spec)


@pytest.mark.parametrize(
    ("port", "called"),
    [
        ({"number": 80}, None),
        ({"name": "web"}, None),
        ({"number": 8443}, "8443"),
        ({"name": "http"}, "http"),
        ({}, None),
    ],
)
def test_an_ingress_leads_to_a_port_of_its_service(port: Json, called: str | None) -> None:
    expected = [f"port {called} is not a port of Service demo"] if called else []
    assert told("OBJ-022", ingress(port), service()) == expected
    assert told("OBJ-022", ingress(port), service(type="ExternalName")) == []
    assert told("OBJ-021", ingress(port, name="else"), service(), PODS) == []  # it may well be in the cluster


def monitor(port: str, labels: Json | None = None, **spec: Any) -> Json:
    selector = {"matchLabels": {"app": "demo"} if labels is None else labels}
    spec = {"selector": selector, "endpoints": [{"port": port}], **spec}
    return manifest("ServiceMonitor", "m", "monitoring.coreos.com/v1", spec=spec)


@pytest.mark.parametrize(
    ("one", "is_told"),
    [
        (monitor("web"), False),
        (monitor("metrics"), True),
        (monitor("metrics", {"app": "else"}), False),
        (monitor("metrics", {}), False),
        (monitor("metrics", namespaceSelector={"any": True}), True),
        (monitor("metrics", namespaceSelector={"matchNames": ["here"]}), True),
        (monitor("metrics", namespaceSelector={"matchNames": ["there"]}), False),
    ],
)
def test_a_monitor_names_a_port_of_the_services(one: Json, *, is_told: bool) -> None:
    message = "port 'metrics' is not a port of the Services that the ServiceMonitor selects"
    assert told("OBJ-022", one, service(namespace="here")) == ([message] if is_told else [])

"""The targetPort of webhooks of the CSV, beside the ports of their deployment."""

import pytest

from rukpak_py.formats.validation import validate
from tests.unit.bundles import Json, bundle, csv_document, deployment, webhook

PORTS = [{"name": "http", "containerPort": 8080}]
_MESSAGE = "targetPort 'web' of webhook 'w.demo.example.com' is not a port of deployment 'demo-controller'"


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
    containers = [{"name": "manager", "image": "a", "ports": PORTS}]
    csv = csv_document(deployments=[deployment(containers=containers)])
    csv["spec"]["webhookdefinitions"] = [webhook("w.demo.example.com", **fields)]
    found = [one.message for one in validate(bundle(csv=csv)) if one.rule == "OBJ-015"]
    assert found == ([_MESSAGE] if is_told else [])

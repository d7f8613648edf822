"""The webhook configuration is deleted or replaced: Bundles are not guarded any more, and users hear of it.

What the operator made itself, and a caBundle that was lost as by `helm upgrade --force`, it puts back.
"""

import json
from contextlib import suppress
from typing import Any

import pytest

from rukpak_py.api.names import WEBHOOK_CONFIGURATION
from rukpak_py.certificates.own_certificate import WEBHOOK_CONFIGURATIONS
from rukpak_py.kube.client import JSON_PATCH
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import EVENTS
from tests.integration.listing import listed
from tests.integration.operator.process import Operator
from tests.integration.server.conftest import Cluster, StartOperator
from tests.integration.server.test_deleted_certificate_secrets import create_configuration
from tests.integration.server.traffic import until_reached
from tests.waiting import eventually

METRIC = "rukpak_webhook_configuration_ok"
THEIR_CA = "dGhlaXJz"
EMPTY = b'[{"op":"replace","path":"/webhooks/0/clientConfig/caBundle","value":""}]'


@pytest.fixture
async def operator(cluster: Cluster, operators: StartOperator) -> Operator:
    """Ready, with a webhook configuration as the chart makes it."""
    await create_configuration(cluster)
    operator = operators()
    await operator.start()
    await eventually(lambda: _metric_is(operator, 1), what="the metric says that it is fine")
    return operator


async def test_a_deleted_configuration_is_reported_until_it_is_back(cluster: Cluster, operator: Operator) -> None:
    await cluster.client.delete(WEBHOOK_CONFIGURATIONS, "", WEBHOOK_CONFIGURATION)

    event = await event_with_reason(cluster, "WebhookConfigurationMissing")
    assert event["type"] == "Warning"
    assert event["involvedObject"]["kind"] == "Deployment"
    assert f'ValidatingWebhookConfiguration "{WEBHOOK_CONFIGURATION}" not found' in event["message"]
    assert event["message"] in operator.log
    assert await _metric_is(operator, 0)
    assert await operator.ask("health-probe", "/readyz") == (200, "ok\n")

    await create_configuration(cluster)
    assert (await event_with_reason(cluster, "WebhookConfigurationRestored"))["type"] == "Normal"
    await eventually(lambda: _metric_is(operator, 1), what="the metric says that it is fine again")


async def test_a_replaced_configuration_is_reported_and_left_alone(cluster: Cluster, operator: Operator) -> None:
    await cluster.client.delete(WEBHOOK_CONFIGURATIONS, "", WEBHOOK_CONFIGURATION)
    theirs = {
        "name": "vbundles.core.rukpak.io",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Ignore",
        "clientConfig": {"url": "https://elsewhere.example:443/", "caBundle": THEIR_CA},
    }
    manifest = {"metadata": {"name": WEBHOOK_CONFIGURATION}, "webhooks": [theirs]}
    await cluster.client.create(WEBHOOK_CONFIGURATIONS, "", json.dumps(manifest).encode())

    event = await event_with_reason(cluster, "WebhookConfigurationReplaced")
    assert 'webhook "vbundles.core.rukpak.io" calls https://elsewhere.example:443/' in event["message"]
    assert await _metric_is(operator, 0)
    live = json.loads(await cluster.client.get(WEBHOOK_CONFIGURATIONS, "", WEBHOOK_CONFIGURATION))
    assert live["webhooks"][0]["clientConfig"]["caBundle"] == THEIR_CA


@pytest.mark.usefixtures("called_operator")
async def test_deleted_configuration_of_the_operator_is_made_again(cluster: Cluster) -> None:
    client = cluster.client
    await until_reached(client)
    former = (await client.get_metadata(WEBHOOK_CONFIGURATIONS, "", WEBHOOK_CONFIGURATION)).uid
    await client.delete(WEBHOOK_CONFIGURATIONS, "", WEBHOOK_CONFIGURATION)

    async def is_new() -> bool:
        with suppress(NotFoundError):
            return (await client.get_metadata(WEBHOOK_CONFIGURATIONS, "", WEBHOOK_CONFIGURATION)).uid != former
        return False

    await eventually(is_new, what="it is made again")
    await until_reached(client)


@pytest.mark.usefixtures("called_operator")
async def test_a_lost_ca_bundle_is_written_again(cluster: Cluster) -> None:
    client = cluster.client
    await until_reached(client)
    await client.patch(WEBHOOK_CONFIGURATIONS, "", WEBHOOK_CONFIGURATION, EMPTY, content_type=JSON_PATCH)

    async def is_written() -> bool:
        live = json.loads(await client.get(WEBHOOK_CONFIGURATIONS, "", WEBHOOK_CONFIGURATION))
        return all(webhook["clientConfig"].get("caBundle") for webhook in live["webhooks"])

    await eventually(is_written, what="the caBundle is back")  # the keeper's own interval is ten minutes
    await until_reached(client)


async def event_with_reason(cluster: Cluster, reason: str) -> dict[str, Any]:
    """The Event with this reason, once it is there."""

    async def look() -> dict[str, Any] | None:
        events = await listed(cluster.client, EVENTS, cluster.system)
        return next((event for event in events if event["reason"] == reason), None)

    return await eventually(look, what=f"an Event {reason}")


async def _metric_is(operator: Operator, value: float) -> bool:
    return METRIC in await operator.metrics() and await operator.metric(METRIC) == value

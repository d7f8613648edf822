"""The webhook configuration of a former release, without the webhook for CRDs: an upgrade of the operator bears it."""

import json
from typing import Any

from rukpak_py.api.names import CRD_WEBHOOK, WEBHOOK_CONFIGURATION
from rukpak_py.certificates.own_certificate import WEBHOOK_CONFIGURATIONS
from rukpak_py.certificates.own_webhooks import OurWebhooks
from rukpak_py.kube.client import JSON_PATCH
from tests.integration.server.conftest import Cluster, StartOperator
from tests.integration.server.test_deleted_certificate_secrets import ELECT, becomes_ready, occupy_lease
from tests.waiting import eventually


async def test_new_replica_is_ready_before_and_after_the_configuration_is_upgraded(
    cluster: Cluster, operators: StartOperator
) -> None:
    """The former leader never fills the caBundle of the new webhook, and goes only once the new replica is ready."""
    await create_former_configuration(cluster)
    leader = operators()
    await leader.start()
    await leader.stop()  # its Secrets and the caBundle of the two webhooks stay

    await occupy_lease(cluster)
    follower = operators(ELECT)
    follower.launch()
    await becomes_ready(follower)
    await add_new_webhook(cluster)
    assert "caBundle" not in (await crd_webhook(cluster))["clientConfig"]
    another = operators(ELECT)
    another.launch()
    await becomes_ready(another)
    assert await follower.ask("health-probe", "/readyz") == (200, "ok\n")
    assert "caBundle" not in (await crd_webhook(cluster))["clientConfig"]


async def test_leader_fills_the_ca_bundle_of_the_new_webhook(cluster: Cluster, operators: StartOperator) -> None:
    await create_former_configuration(cluster)
    await operators().start()
    await add_new_webhook(cluster)

    async def is_filled() -> bool:
        return bool((await crd_webhook(cluster))["clientConfig"].get("caBundle"))

    await eventually(is_filled, what="the caBundle of the new webhook")


async def create_former_configuration(cluster: Cluster) -> None:
    manifest = OurWebhooks(system_namespace=cluster.system).configuration()
    manifest["webhooks"] = [one for one in manifest["webhooks"] if one["name"] != CRD_WEBHOOK]
    await cluster.client.create(WEBHOOK_CONFIGURATIONS, "", json.dumps(manifest).encode())


async def add_new_webhook(cluster: Cluster) -> None:
    (new,) = (
        one
        for one in OurWebhooks(system_namespace=cluster.system).configuration()["webhooks"]
        if one["name"] == CRD_WEBHOOK
    )
    patch = json.dumps([{"op": "add", "path": "/webhooks/-", "value": new}]).encode()
    await cluster.client.patch(WEBHOOK_CONFIGURATIONS, "", WEBHOOK_CONFIGURATION, patch, content_type=JSON_PATCH)


async def crd_webhook(cluster: Cluster) -> dict[str, Any]:
    live = json.loads(await cluster.client.get(WEBHOOK_CONFIGURATIONS, "", WEBHOOK_CONFIGURATION))
    found: dict[str, Any] = next(one for one in live["webhooks"] if one["name"] == CRD_WEBHOOK)
    return found

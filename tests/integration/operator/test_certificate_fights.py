"""Another client removes the CA of a bundle's webhooks as often as it is put back: the condition says so."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson

from rukpak_py.api.names import INJECT_CA_ANNOTATION, SERVING_CERTIFICATE_ANNOTATION
from rukpak_py.core.objects import GroupVersionKind, ObjectKey
from rukpak_py.kube.client import JSON_PATCH
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.resources import Resource
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document
from tests.waiting import INTERVAL_SECONDS

ADMISSION = "admissionregistration.k8s.io"
VALIDATING = Resource(
    gvk=GroupVersionKind(ADMISSION, "v1", "ValidatingWebhookConfiguration"),
    plural="validatingwebhookconfigurations",
    namespaced=False,
)
CA_BUNDLE = "/webhooks/0/clientConfig/caBundle"


def content(tenant: Tenant) -> list[Document]:
    """A webhook that is never called: the group of its rules does not exist."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "hooks",
            "namespace": tenant.namespace,
            "annotations": {SERVING_CERTIFICATE_ANNOTATION: "hooks-tls"},
        },
        "spec": {"ports": [{"port": 443}]},
    }
    rule = {"apiGroups": [f"{tenant.name}.test"], "apiVersions": ["v1"], "resources": ["x"], "operations": ["CREATE"]}
    hooks = {
        "apiVersion": f"{ADMISSION}/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {
            "name": tenant.name,
            "annotations": {INJECT_CA_ANNOTATION: f"{tenant.namespace}/hooks-tls"},
        },
        "webhooks": [
            {
                "name": f"{tenant.name}.example.com",
                "clientConfig": {"service": {"namespace": tenant.namespace, "name": "hooks"}},
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "rules": [rule],
            }
        ],
    }
    return [service, hooks]


def configuration(tenant: Tenant) -> ObjectKey:
    return VALIDATING.key("", tenant.name)


@asynccontextmanager
async def rival(tenant: Tenant, patch: Document) -> AsyncIterator[None]:
    """A client that changes the CA of the webhook whenever it finds one."""

    async def fight() -> None:
        while True:
            body = orjson.dumps([{**patch, "path": CA_BUNDLE}])
            try:
                live = await tenant.read(VALIDATING, "", tenant.name)
                if live["webhooks"][0]["clientConfig"].get("caBundle") not in {None, patch.get("value")}:
                    await tenant.admin.patch(
                        VALIDATING, "", tenant.name, body, content_type=JSON_PATCH, field_manager="rival"
                    )
            except ApiError:
                pass
            await asyncio.sleep(INTERVAL_SECONDS)

    fighting = asyncio.create_task(fight())
    try:
        yield
    finally:
        fighting.cancel()
        await asyncio.gather(fighting, return_exceptions=True)


async def test_a_ca_bundle_that_is_removed_again_and_again_is_told(tenant: Tenant, operator: Operator) -> None:
    await tenant.publish("v1", content(tenant))
    await tenant.deploy("v1")
    await tenant.ready()
    async with rival(tenant, {"op": "remove"}):
        told = await tenant.until(
            lambda one: condition(one, "Ready").get("reason") == "FieldsContested", what="the fight is told"
        )
        assert f"keeps changing {configuration(tenant)}; its serving" in condition(told, "Ready")["message"]
        assert condition(told, "Installed")["status"] == "True"
    await tenant.ready(seconds=90)  # it rests for a minute


async def test_the_client_that_replaces_a_ca_bundle_is_named(tenant: Tenant, operator: Operator) -> None:
    await tenant.publish("v1", content(tenant))
    await tenant.deploy("v1")
    await tenant.ready()
    async with rival(tenant, {"op": "replace", "value": "dGhlaXJz"}):
        told = await tenant.until(
            lambda one: condition(one, "Ready").get("reason") == "FieldsContested", what="the fight is told"
        )
    message = condition(told, "Ready")["message"]
    assert message.startswith(f'"rival" keeps changing {configuration(tenant)}; '), message

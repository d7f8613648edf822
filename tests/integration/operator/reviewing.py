"""Admission reviews, as the API server sends them to an operator of the test."""

import ssl
from typing import Any

import aiohttp

from rukpak_py.api.names import BUNDLE_WEBHOOK_PATH, CONFIG_MAP_WEBHOOK_PATH
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant
from tests.manifests import Document

REVIEW_SECONDS = 8  # as long as a review may take


async def created_bundle(operator: Operator, bundle: Document) -> Document:
    """The answer to the creation of a Bundle."""
    resource = {"group": "core.rukpak.io", "version": "v1alpha1", "resource": "bundles"}
    request = {"operation": "CREATE", "resource": resource, "name": bundle["metadata"]["name"], "object": bundle}
    return await _answer(operator, BUNDLE_WEBHOOK_PATH, request)


async def users_of(operator: Operator, tenant: Tenant, config_map: str) -> str:
    """The reason why a ConfigMap of the system namespace may not be deleted, which names its users; empty: it may."""
    resource = {"group": "", "version": "v1", "resource": "configmaps"}
    request = {"operation": "DELETE", "resource": resource, "namespace": tenant.system, "name": config_map}
    answer = await _answer(operator, CONFIG_MAP_WEBHOOK_PATH, request)
    return "" if answer["allowed"] else str(answer["status"]["message"])


async def _answer(operator: Operator, path: str, request: dict[str, Any]) -> Document:
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", **request}}
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    timeout = aiohttp.ClientTimeout(total=REVIEW_SECONDS)
    async with (
        aiohttp.ClientSession(timeout=timeout) as session,
        session.post(operator.url("webhook", path), json=body, ssl=trusting) as answer,
    ):
        assert answer.status == 200, await answer.text()
        response: Document = (await answer.json())["response"]
        return response

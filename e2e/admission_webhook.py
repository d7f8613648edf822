"""An admission webhook on loopback, which the API server asks about ConfigMaps of the namespaces with its label."""

import base64
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web

from e2e.cluster.pki import Authority, Subject
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import Resource

Answer = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]  # from the request of a review to its response

HOST = "127.0.0.1"
TIMEOUT_SECONDS = 30  # the longest that the API server accepts
VALIDATING = Resource(
    gvk=GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"),
    plural="validatingwebhookconfigurations",
    namespaced=False,
)
MUTATING = Resource(
    gvk=GroupVersionKind("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration"),
    plural="mutatingwebhookconfigurations",
    namespaced=False,
)


@asynccontextmanager
async def admission_webhook(
    client: Client, name: str, folder: Path, answer: Answer, *, configurations: Resource = VALIDATING
) -> AsyncIterator[None]:
    """Its label is its name, with the value "true"."""
    authority = Authority.create(name)
    authority.issue(Subject(name=name, addresses=(HOST,))).write(folder, name)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / f"{name}.crt", folder / f"{name}.key")

    async def handle(request: web.Request) -> web.Response:
        review = orjson.loads(await request.read())["request"]
        response = {"uid": review["uid"], **await answer(review)}
        return web.json_response({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})

    app = web.Application()
    app.router.add_post("/", handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, 0, ssl_context=tls).start()
        url = f"https://{HOST}:{runner.addresses[0][1]}/"
        body = orjson.dumps(_configuration(configurations, name, url, authority.pair.certificate))
        await client.create(configurations, "", body)
        yield
    finally:
        await client.delete(configurations, "", name)
        await runner.cleanup()


def _configuration(configurations: Resource, name: str, url: str, authority: bytes) -> dict[str, Any]:
    return {
        "apiVersion": configurations.gvk.api_version,
        "kind": configurations.gvk.kind,
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": f"{name}.example.com",
                "clientConfig": {"url": url, "caBundle": base64.b64encode(authority).decode()},
                "rules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": ["configmaps"],
                    }
                ],
                "namespaceSelector": {"matchLabels": {name: "true"}},
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "timeoutSeconds": TIMEOUT_SECONDS,
                "failurePolicy": "Fail",
            }
        ],
    }

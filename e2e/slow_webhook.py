"""A validating admission webhook that answers late: it allows everything, after so many seconds or when it is told to.

The API server asks it about the ConfigMaps of the namespaces that carry its label.
"""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web

from e2e.cluster.pki import Authority, Subject
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import Resource

HOST = "127.0.0.1"
TIMEOUT_SECONDS = 30  # the longest that the API server accepts
CONFIGURATIONS = Resource(
    gvk=GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"),
    plural="validatingwebhookconfigurations",
    namespaced=False,
)


class SlowWebhook:
    """`held`: namespace and name of what it has yet to answer about. `answered`: how many answers it has given."""

    def __init__(self, label: str, seconds: float | None) -> None:
        self.label = label
        self.held: list[tuple[str, str]] = []
        self.answered = 0
        self.let_go = asyncio.Event()
        self._seconds = seconds

    async def handle(self, request: web.Request) -> web.Response:
        review = orjson.loads(await request.read())["request"]
        one = review["namespace"], review["name"]
        self.held.append(one)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._seconds):
                await self.let_go.wait()
        self.held.remove(one)
        self.answered += 1
        response = {"uid": review["uid"], "allowed": True}
        return web.json_response({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})


@asynccontextmanager
async def slow_webhook(
    client: Client, name: str, folder: Path, *, seconds: float | None = None
) -> AsyncIterator[SlowWebhook]:
    """Its label is its name, with the value "true". `seconds` None: it answers when it is let go."""
    authority = Authority.create(name)
    authority.issue(Subject(name=name, addresses=(HOST,))).write(folder, name)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / f"{name}.crt", folder / f"{name}.key")
    webhook = SlowWebhook(name, seconds)
    app = web.Application()
    app.router.add_post("/", webhook.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, 0, ssl_context=tls).start()
        url = f"https://{HOST}:{runner.addresses[0][1]}/"
        body = orjson.dumps(_configuration(name, url, authority.pair.certificate))
        await client.create(CONFIGURATIONS, "", body)
        yield webhook
    finally:
        webhook.let_go.set()
        await client.delete(CONFIGURATIONS, "", name)
        await runner.cleanup()


def _configuration(name: str, url: str, authority: bytes) -> dict[str, Any]:
    return {
        "apiVersion": CONFIGURATIONS.gvk.api_version,
        "kind": CONFIGURATIONS.gvk.kind,
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

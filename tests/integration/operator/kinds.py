"""Custom kinds for the tests of this folder, and a discovery that leaves one of their groups out."""

from typing import Any

import orjson
from aiohttp import web

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery_documents import AGGREGATED
from rukpak_py.kube.resources import Resource
from tests.integration.proxy import Exchange
from tests.manifests import Document, manifest


def things(group: str, version: str = "v1") -> Resource:
    return Resource(gvk=GroupVersionKind(group, version, "Thing"), plural="things", namespaced=True)


def instance(group: str, version: str, name: str, namespace: str, **spec: Any) -> Document:
    return manifest(f"{group}/{version}", "Thing", name, namespace, spec=spec)


class HiddenGroup:
    """Discovery answers 200 without one group, as a server that has just started does, until it is taken out."""

    def __init__(self, admin: Client, group: str) -> None:
        self.answers = 0
        self._admin = admin
        self._group = group

    async def before(self, exchange: Exchange) -> web.Response | None:
        if exchange.path != "/apis" or exchange.accept != AGGREGATED:
            return None
        answer = await self._admin.raw_get("/apis", accept=AGGREGATED)
        document = orjson.loads(answer.body)
        document["items"] = [one for one in document["items"] if one["metadata"]["name"] != self._group]
        self.answers += 1
        return web.Response(body=orjson.dumps(document), headers={"Content-Type": answer.headers["Content-Type"]})

    async def after(self, exchange: Exchange) -> None:
        pass

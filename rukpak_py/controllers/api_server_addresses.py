"""All addresses of the API server, which no source may reach: as we reach it, as pods do, and those of its replicas.

The replicas are the endpoints of the Service `kubernetes`, each on a node of its own; they come and go, and what was
one of them stays refused for as long as this process lives.
"""

import asyncio
import logging
import os
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

import msgspec

from rukpak_py.core.errors import RukPakError
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import ENDPOINT_SLICES
from rukpak_py.sources.urls import DEFAULT_PORTS

LOG = logging.getLogger(__name__)
INTERVAL = 600.0
NAMESPACE, NAME = "default", "kubernetes"


class _Endpoint(msgspec.Struct):
    addresses: list[str] = []


class _Port(msgspec.Struct):
    port: int | None = None


class _EndpointSlice(msgspec.Struct):
    endpoints: list[_Endpoint] | None = None
    ports: list[_Port] | None = None

    def addresses(self) -> Iterator[tuple[str, int]]:
        for endpoint in self.endpoints or ():
            for address in endpoint.addresses:
                for port in self.ports or ():
                    yield str(ip_address(address)), port.port or DEFAULT_PORTS["https"]


class ApiServerAddresses:
    def __init__(self, client: Client, environ: Mapping[str, str] = os.environ) -> None:
        self._client = client
        url = urlsplit(client.server)
        self.known = {(url.hostname or "", url.port or DEFAULT_PORTS.get(url.scheme, 0))}
        if host := environ.get("KUBERNETES_SERVICE_HOST"):
            self.known.add((host, int(environ.get("KUBERNETES_SERVICE_PORT") or DEFAULT_PORTS["https"])))

    async def refresh(self) -> None:
        try:
            body = await self._client.get(ENDPOINT_SLICES, NAMESPACE, NAME)
            self.known |= set(msgspec.json.decode(body, type=_EndpointSlice).addresses())
        except NotFoundError:
            return  # a control plane outside of its cluster does not publish its addresses here
        except (RukPakError, msgspec.DecodeError, ValueError) as error:
            LOG.warning(
                "the addresses of the API server's replicas are not known, so sources may reach them: %s", error
            )

    async def run(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            await self.refresh()

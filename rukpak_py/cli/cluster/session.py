"""A command that talks to the cluster, from the kubeconfig to its end."""

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

import msgspec

from rukpak_py.api.names import CA_KEY
from rukpak_py.cli.cluster.content_server import ContentServer, Way, content_server
from rukpak_py.cli.cluster.options import OperatorAt
from rukpak_py.core.errors import AccessError, RukPakError
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import Connection, load_connection
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.port_forward import PortForward, ready_pod
from rukpak_py.kube.resources import SECRETS

PORT_NAME = "https"
ELSEWHERE = "Is the operator in another namespace? Name it with --system-namespace"

T = TypeVar("T")


class _Secret(msgspec.Struct):
    data: dict[str, str] | None = None


class ClusterSession:
    """A connected cluster, with the operations that the commands need."""

    def __init__(self, client: Client, connection: Connection, at: OperatorAt, *, way: Way | None = None) -> None:
        """`way`: to the content server, when it is not forwarded."""
        self.client = client
        self._connection = connection
        self._at = at
        self._way = way

    @asynccontextmanager
    async def content_server(self) -> AsyncIterator[ContentServer]:
        at = self._at
        authority = await self._authority()
        way = self._way or PortForward(
            self.client, partial(ready_pod, self.client, at.namespace, at.service, PORT_NAME)
        )
        await way.check()
        async with content_server(way, self._connection, authority) as server:
            yield server

    async def _authority(self) -> bytes:
        at = self._at
        try:
            secret = msgspec.json.decode(await self.client.get(SECRETS, at.namespace, at.ca_secret), type=_Secret)
            return base64.b64decode((secret.data or {})[CA_KEY], validate=True)
        except RukPakError as error:
            advice = f". {ELSEWHERE}" if isinstance(error, NotFoundError) else ""
            raise AccessError(f"get rukpak certificate authority: {error}{advice}") from error
        except (KeyError, binascii.Error, msgspec.DecodeError):
            raise AccessError(
                f"get rukpak certificate authority: Secret {at.namespace}/{at.ca_secret} has no {CA_KEY}"
            ) from None


def with_cluster(at: OperatorAt, work: Callable[[ClusterSession], Awaitable[T]]) -> T:
    """Ctrl-C cancels the work, and ends it in good order."""

    async def connected() -> T:
        connection = await load_connection()
        try:
            async with Client(connection) as client:
                return await work(ClusterSession(client, connection, at))
        finally:
            await asyncio.sleep(0)  # connections that were aborted end in the loop's next turn

    return asyncio.run(connected())

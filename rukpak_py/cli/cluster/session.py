"""A command in the cluster, from the kubeconfig to its end, and the options that say where the operator is."""

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import click
import msgspec

from rukpak_py.api.names import CA_KEY, CONTENT_SERVICE, DEFAULT_SYSTEM_NAMESPACE, SecretName
from rukpak_py.cli.cluster.content_server import ContentServer, Way, content_server
from rukpak_py.core.errors import AccessError, RukPakError
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import Connection, load_connection
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.port_forward import PortForward, ready_pod
from rukpak_py.kube.resources import SECRETS

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class OperatorAt:
    """Names of the operator's objects."""

    namespace: str
    service: str
    ca_secret: str


def operator_options(*namespace_names: str) -> Callable[[F], F]:
    """Adds them; the command takes them as `**where` for `OperatorAt`. `namespace_names`: how the first is spelt."""
    options: Sequence[Callable[[F], F]] = (
        click.option(
            *namespace_names,
            "namespace",
            default=DEFAULT_SYSTEM_NAMESPACE,
            show_default=True,
            metavar="NAMESPACE",
            help="The operator's namespace.",
        ),
        click.option(
            "--upload-service-name",
            "service",
            default=CONTENT_SERVICE,
            show_default=True,
            metavar="NAME",
            help="The Service in front of the operator's content server.",
        ),
        click.option(
            "--ca-secret-name",
            "ca_secret",
            default=str(SecretName.CA),
            show_default=True,
            metavar="NAME",
            help="The Secret with the authority (ca.crt) of its certificate.",
        ),
    )

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


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
    return asyncio.run(_connected(lambda client, connection: work(ClusterSession(client, connection, at))))


def with_client(work: Callable[[Client], Awaitable[T]]) -> T:
    """The same for work that needs the API server alone."""
    return asyncio.run(_connected(lambda client, _: work(client)))


async def _connected(work: Callable[[Client, Connection], Awaitable[T]]) -> T:
    connection = await load_connection()
    try:
        async with Client(connection) as client:
            return await work(client, connection)
    finally:
        await asyncio.sleep(0)  # connections that were aborted end in the loop's next turn

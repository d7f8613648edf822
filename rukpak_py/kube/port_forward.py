"""Forwards connections to a port of a pod, over the API server's websocket, with the rights of the client.

Each connection is a websocket of its own. A message is one byte that names its channel, then bytes: channel 0 is the
connection, channel 1 what went wrong with it. On each channel the first two bytes are the number of the port. Neither
side can be closed alone: the end of one is the end of the connection. Behind a Service, EndpointSlices name a pod that
can take a connection now.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

import aiohttp
import msgspec

from rukpak_py.core.errors import RukPakError, UnavailableError
from rukpak_py.kube.calls import Call, Repeat
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ErrorAnswer, ForbiddenError, InvalidError, NotFoundError
from rukpak_py.kube.resources import ENDPOINT_SLICES, PODS, SERVICES

PROTOCOLS: Final = ("v4.channel.k8s.io",)
LONGEST_FRAME: Final = 1024 * 1024
CHUNK: Final = 32 * 1024
LOOPBACK: Final = "127.0.0.1"
_DATA, _ERROR = 0, 1
_PORT_BYTES = 2
_KEPT = 1024  # of an error


@dataclass(frozen=True, kw_only=True, slots=True)
class PodPort:
    namespace: str
    pod: str
    port: int

    def __str__(self) -> str:
        return f"port {self.port} of Pod {self.namespace}/{self.pod}"


class PortForwardError(UnavailableError):
    """The connection could not be made, or broke off."""


class PortForwardFrames:
    """The messages of one connection."""

    def __init__(self, target: PodPort) -> None:
        self._target = target
        self._left = {_DATA: _PORT_BYTES, _ERROR: _PORT_BYTES}  # of the number of the port
        self._number = bytearray()

    @staticmethod
    def sent(data: bytes) -> bytes:
        return bytes((_DATA,)) + data

    def received(self, frame: bytes) -> bytes:
        """Return the bytes of this message that belong to the connection; an error raises `PortForwardError`."""
        if not frame or frame[0] not in self._left:
            raise PortForwardError(f"forward to {self._target}: the API server sent a message of an unknown channel")
        channel = frame[0]
        left = self._left[channel]
        self._left[channel] = max(0, left - (len(frame) - 1))
        body = frame[1 + left :]
        if channel == _DATA:
            number = frame[1 : 1 + left]
            self._number += number
            if (
                number
                and len(self._number) == _PORT_BYTES
                and int.from_bytes(self._number, "little") != self._target.port
            ):
                raise PortForwardError(f"forward to {self._target}: the API server forwards another port")
            return body
        if body:
            text = " ".join(body[:_KEPT].decode(errors="replace").split())
            raise PortForwardError(f"forward to {self._target}: {text}")
        return b""


@asynccontextmanager
async def connected(client: Client, target: PodPort) -> AsyncIterator[aiohttp.ClientWebSocketResponse[bool]]:
    call = Call(
        method="GET",  # of a websocket; the rights that it needs are `get` and, since 1.35, `create`
        verb="get",
        resource=PODS,
        namespace=target.namespace,
        name=target.pod,
        subresource="portforward",
        params={"ports": str(target.port)},
        accept="*/*",  # the kubelet and the container runtime see this header, and know no type by name
        repeat=Repeat.NEVER,
    )
    try:
        async with client.websocket(call, protocols=PROTOCOLS, longest=LONGEST_FRAME) as socket:
            yield socket
    except ForbiddenError as error:
        raise ForbiddenError(
            ErrorAnswer(
                subject=f"forward to {target}",
                status=error.status,
                message=f"the verbs get and create of pods/portforward in the namespace {target.namespace} are needed",
            )
        ) from error
    except NotFoundError as error:  # it was there a moment ago: another one may be by now
        raise PortForwardError(f"forward to {target}: there is no such pod") from error
    except InvalidError as error:
        raise PortForwardError(f"forward to {target}: the API server refused it with {error.status}") from error


async def carry(
    socket: aiohttp.ClientWebSocketResponse[bool],
    target: PodPort,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    """Both directions, until either side ends the connection."""

    async def send() -> None:
        while data := await reader.read(CHUNK):
            await socket.send_bytes(PortForwardFrames.sent(data))

    async def receive() -> None:
        frames = PortForwardFrames(target)
        async for message in socket:
            if message.type is not aiohttp.WSMsgType.BINARY:
                raise PortForwardError(f"forward to {target}: the connection broke off")
            writer.write(frames.received(message.data))
            await writer.drain()

    tasks = [asyncio.create_task(send()), asyncio.create_task(receive())]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class PortForward:
    """A port on loopback; every connection to it is forwarded to what `find` names at that moment.

    `failure` is why the last connection could not be forwarded: its client only sees that it was closed.
    """

    def __init__(self, client: Client, find: Callable[[], Awaitable[PodPort]]) -> None:
        self._client = client
        self._find = find
        self.failure: RukPakError | None = None

    async def check(self) -> None:
        """An error when there is nothing to forward to, unless that may change in a moment."""
        with suppress(UnavailableError):
            await self._find()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        """The port."""
        connections: set[asyncio.Task[None]] = set()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._forward(reader, writer))
            connections.add(task)
            task.add_done_callback(connections.discard)

        server = await asyncio.start_server(accept, LOOPBACK, 0)
        try:
            yield int(server.sockets[0].getsockname()[1])
        finally:
            server.close()
            for task in tuple(connections):
                task.cancel()
            await asyncio.gather(*connections, return_exceptions=True)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.failure = None
            target = await self._find()
            async with connected(self._client, target) as socket:
                await carry(socket, target, reader, writer)
        except RukPakError as error:
            self.failure = error
        except (OSError, aiohttp.ClientError) as error:
            self.failure = PortForwardError(f"the forwarded connection broke off ({type(error).__name__})")
        finally:
            with suppress(OSError):
                writer.close()
                await writer.wait_closed()


PAGE = 100
SERVICE_LABEL = "kubernetes.io/service-name"


class _Reference(msgspec.Struct):
    kind: str = ""
    name: str = ""


class _Conditions(msgspec.Struct):
    ready: bool | None = None  # None counts as ready


class _Endpoint(msgspec.Struct, rename="camel"):
    conditions: _Conditions | None = None
    target_ref: _Reference | None = None


class _Port(msgspec.Struct):
    name: str | None = None
    port: int | None = None


class _Slice(msgspec.Struct):
    endpoints: list[_Endpoint] | None = None
    ports: list[_Port] | None = None


async def ready_pod(client: Client, namespace: str, service: str, port: str) -> PodPort:
    """One of the ready pods, by the name of a port. NotFoundError: no such Service; UnavailableError: no ready pod."""
    params = {"labelSelector": f"{SERVICE_LABEL}={service}"}
    pages = client.list_by_page(ENDPOINT_SLICES, namespace, params=params, page=PAGE, full=True)
    slices = [msgspec.json.decode(live.json or b"{}", type=_Slice) async for page in pages for live in page.items]
    for one in slices:
        for number in (named.port for named in one.ports or () if named.name == port and named.port):
            for pod in _ready(one):
                return PodPort(namespace=namespace, pod=pod, port=number)
    try:
        await client.get_metadata(SERVICES, namespace, service)
    except NotFoundError as error:
        raise _not_found(
            namespace, service, "there is no such Service: is the operator installed in this namespace?"
        ) from error
    if any(one.ports for one in slices) and not any(named.name == port for one in slices for named in one.ports or ()):
        raise _not_found(namespace, service, f'could not find port "{port}" for service "{service}"')
    raise UnavailableError(
        f"could not find available endpoint for {service} service in namespace {namespace}: no pod behind it is ready"
    )


def _ready(one: _Slice) -> Iterator[str]:
    for endpoint in one.endpoints or ():
        ready = endpoint.conditions.ready if endpoint.conditions is not None else None
        if ready is not False and endpoint.target_ref is not None and endpoint.target_ref.kind == "Pod":
            yield endpoint.target_ref.name


def _not_found(namespace: str, service: str, message: str) -> NotFoundError:
    return NotFoundError(ErrorAnswer(subject=f"find Service {namespace}/{service}", status=404, message=message))

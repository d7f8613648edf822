"""A pod behind a Service that can take a connection now, as EndpointSlices tell."""

from collections.abc import AsyncGenerator, Iterator

import msgspec

from rukpak_py.core.errors import UnavailableError
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ErrorAnswer, NotFoundError
from rukpak_py.kube.port_forward import PodPort
from rukpak_py.kube.resources import ENDPOINT_SLICES, SERVICES

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
    slices = [one async for one in _slices(client, namespace, service)]
    for one in slices:
        for number in (named.port for named in one.ports or () if named.name == port and named.port):
            for pod in _ready(one):
                return PodPort(namespace=namespace, pod=pod, port=number)
    await _check_service(client, namespace, service)
    if any(one.ports for one in slices) and not any(named.name == port for one in slices for named in one.ports or ()):
        raise _not_found(namespace, service, f'could not find port "{port}" for service "{service}"')
    raise UnavailableError(
        f"could not find available endpoint for {service} service in namespace {namespace}: no pod behind it is ready"
    )


async def _slices(client: Client, namespace: str, service: str) -> AsyncGenerator[_Slice, None]:
    params = {"labelSelector": f"{SERVICE_LABEL}={service}"}
    async for page in client.list_by_page(ENDPOINT_SLICES, namespace, params=params, page=PAGE, full=True):
        for live in page.items:
            yield msgspec.json.decode(live.json or b"{}", type=_Slice)


def _ready(one: _Slice) -> Iterator[str]:
    for endpoint in one.endpoints or ():
        ready = endpoint.conditions.ready if endpoint.conditions is not None else None
        if ready is not False and endpoint.target_ref is not None and endpoint.target_ref.kind == "Pod":
            yield endpoint.target_ref.name


async def _check_service(client: Client, namespace: str, service: str) -> None:
    try:
        await client.get_metadata(SERVICES, namespace, service)
    except NotFoundError as error:
        raise _not_found(
            namespace, service, "there is no such Service: is the operator installed in this namespace?"
        ) from error


def _not_found(namespace: str, service: str, message: str) -> NotFoundError:
    return NotFoundError(ErrorAnswer(subject=f"find Service {namespace}/{service}", status=404, message=message))

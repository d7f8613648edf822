"""Finding a pod behind a Service, and what a real API server answers to forwards that cannot be."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from rukpak_py.core.errors import RukPakError, UnavailableError
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.port_forward import LOOPBACK, PodPort, PortForward, ready_pod
from rukpak_py.kube.resources import ENDPOINT_SLICES, PODS, SERVICE_ACCOUNTS, SERVICES

PORT = 8443
PATIENCE = 10.0


async def create_service(client: Client, namespace: str) -> None:
    """Without a selector, so its slices are the test's."""
    spec = {"ports": [{"name": "https", "port": 443, "targetPort": PORT}]}
    await client.create(SERVICES, namespace, orjson.dumps({"metadata": {"name": "core"}, "spec": spec}))


async def create_slice(
    client: Client, namespace: str, name: str, *endpoints: dict[str, Any], port: str = "https"
) -> None:
    body = {
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": "core"}},
        "addressType": "IPv4",
        "ports": [{"name": port, "port": PORT, "protocol": "TCP"}],
        "endpoints": list(endpoints),
    }
    await client.create(ENDPOINT_SLICES, namespace, orjson.dumps(body))


def endpoint(pod: str, *, ready: bool | None, kind: str = "Pod") -> dict[str, Any]:
    target = {"kind": kind, "name": pod}
    return {"addresses": ["10.0.0.1"], "conditions": {"ready": ready} if ready is not None else {}, "targetRef": target}


@pytest.mark.parametrize("ready", [True, None])
async def test_a_ready_pod_is_found(client: Client, namespace: str, *, ready: bool | None) -> None:
    await create_service(client, namespace)
    await create_slice(
        client, namespace, "a", endpoint("starting", ready=False), endpoint("node", ready=True, kind="Node")
    )
    await create_slice(client, namespace, "b", endpoint("core-1", ready=ready))
    assert await ready_pod(client, namespace, "core", "https") == PodPort(namespace=namespace, pod="core-1", port=PORT)


async def test_no_pod_is_ready(client: Client, namespace: str) -> None:
    await create_service(client, namespace)
    await create_slice(client, namespace, "a", endpoint("starting", ready=False))
    with pytest.raises(UnavailableError, match="could not find available endpoint for core service"):
        await ready_pod(client, namespace, "core", "https")


async def test_another_port_than_the_one_asked_for(client: Client, namespace: str) -> None:
    await create_service(client, namespace)
    await create_slice(client, namespace, "a", endpoint("core-1", ready=True), port="metrics")
    with pytest.raises(NotFoundError, match='could not find port "https" for service "core"'):
        await ready_pod(client, namespace, "core", "https")


async def test_no_service(client: Client, namespace: str) -> None:
    with pytest.raises(NotFoundError, match="there is no such Service: is the operator installed in this namespace"):
        await ready_pod(client, namespace, "core", "https")


@asynccontextmanager
async def failing_forward(client: Client, target: PodPort) -> AsyncIterator[RukPakError | None]:
    """Why a connection was not forwarded."""

    async def find() -> PodPort:
        return target

    forward = PortForward(client, find)
    async with asyncio.timeout(PATIENCE), forward.listening() as port:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        assert await reader.read() == b""
        writer.close()
        yield forward.failure


async def test_a_pod_that_is_gone(client: Client, namespace: str) -> None:
    async with failing_forward(client, PodPort(namespace=namespace, pod="gone", port=PORT)) as failure:
        assert isinstance(failure, UnavailableError)
        assert str(failure) == f"forward to port {PORT} of Pod {namespace}/gone: there is no such pod"


async def test_a_pod_without_a_node(client: Client, namespace: str) -> None:
    await client.create(SERVICE_ACCOUNTS, namespace, b'{"metadata":{"name":"runs-nothing"}}')
    spec = {
        "serviceAccountName": "runs-nothing",
        "containers": [{"name": "c", "image": "none"}],
        "schedulingGates": [{"name": "tests.example.com/never"}],
    }
    await client.create(PODS, namespace, orjson.dumps({"metadata": {"name": "waits"}, "spec": spec}))
    async with failing_forward(client, PodPort(namespace=namespace, pod="waits", port=PORT)) as failure:
        assert isinstance(failure, UnavailableError)
        assert "the API server refused it with 400" in str(failure)


async def test_a_user_without_the_right(client: Client) -> None:
    unbound = client.acting_as("unbound")
    async with failing_forward(unbound, PodPort(namespace="default", pod="core-1", port=PORT)) as failure:
        assert "the verbs get and create of pods/portforward in the namespace default are needed" in str(failure)

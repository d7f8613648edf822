"""Commands in containers, as a real API server refuses them; where there is a node, unpack pods run real ones."""

import json

import pytest

from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError, ForbiddenError, InvalidError, NotFoundError
from rukpak_py.kube.exec import run_command
from rukpak_py.kube.resources import PODS


async def output(client: Client, namespace: str, pod: str) -> bytes:
    return b"".join([piece async for piece in run_command(client, namespace, pod, "c", ["true"])])


async def test_a_pod_that_is_not_there(client: Client, namespace: str) -> None:
    with pytest.raises(NotFoundError):
        await output(client, namespace, "nowhere")


async def test_a_right_that_is_missing(client: Client, namespace: str) -> None:
    unbound = client.acting_as(f"system:serviceaccount:{namespace}:unbound")
    with pytest.raises(ForbiddenError, match=f"exec Pod {namespace}/any"):
        await output(unbound, namespace, "any")


async def test_a_pod_without_a_node(client: Client, namespace: str) -> None:
    spec = {"schedulerName": "nobody", "containers": [{"name": "c", "image": "localhost/never-pulled"}]}
    body = {"metadata": {"name": "waiting"}, "spec": spec}
    await client.create(PODS, namespace, json.dumps(body).encode())
    with pytest.raises(ApiError):
        await output(client, namespace, "waiting")


@pytest.mark.parametrize("name", ["", "..", "a/b"])
async def test_invalid_pod_name_is_never_sent(client: Client, namespace: str, name: str) -> None:
    with pytest.raises(InvalidError, match="not a valid object name"):
        await output(client, namespace, name)

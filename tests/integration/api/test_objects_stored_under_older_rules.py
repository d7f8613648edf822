"""Objects that the original accepted stay workable under our stricter rules."""

import copy
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from rukpak_py.api.names import API_VERSION, GROUP, VERSION
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import InvalidError
from rukpak_py.kube.resources import Resource
from tests.integration.definitions import definitions, install

DEPLOYMENTS = Resource(
    gvk=GroupVersionKind(GROUP, VERSION, "BundleDeployment"), plural="bundledeployments", namespaced=False
)
MISMATCHED = {"type": "git", "image": {"ref": "a"}, "git": {"repository": "r", "ref": {"tag": ""}}}


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from nodes(child)


def older(crds: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same kinds without CEL rules, as the original has them."""
    crds = copy.deepcopy(crds)
    for node in nodes(crds):
        node.pop("x-kubernetes-validations", None)
    return crds


@pytest.fixture
async def client(admin: Client) -> AsyncIterator[Client]:
    """Client of a control plane whose rules no other test needs; the rules of today are back afterwards."""
    await install(admin, older(definitions()))
    yield admin
    await install(admin, definitions())
    await admin.delete(DEPLOYMENTS, "", "old")


async def test_labels_and_status_move_but_the_spec_must_be_mended(client: Client) -> None:
    spec = {"provisionerClassName": "p", "template": {"spec": {"provisionerClassName": "p", "source": MISMATCHED}}}
    body = {"apiVersion": API_VERSION, "kind": "BundleDeployment", "metadata": {"name": "old"}, "spec": spec}
    await client.create(DEPLOYMENTS, "", json.dumps(body).encode())
    await install(client, definitions())
    with pytest.raises(InvalidError, match="must name exactly one non-empty branch"):
        await client.create(DEPLOYMENTS, "", json.dumps(body).encode(), dry_run=True)

    await client.patch(DEPLOYMENTS, "", "old", b'{"metadata":{"labels":{"a":"b"}}}')
    await client.patch_status(DEPLOYMENTS, "", "old", b'{"status":{"activeBundle":"b"}}')
    await client.patch(DEPLOYMENTS, "", "old", b'{"spec":{"suspend":true}}')
    with pytest.raises(InvalidError, match="must have exactly one of image, git"):
        await client.patch(DEPLOYMENTS, "", "old", b'{"spec":{"template":{"spec":{"source":{"image":{"ref":"b"}}}}}}')

"""Fixtures with the objects that `rukpakctl run` finds in the operator's namespace."""

import base64
import json

import pytest

from rukpak_py.api.names import CA_KEY, CONTENT_SERVICE, SecretName
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import SECRETS, SERVICES
from tests.integration.definitions import definitions, install
from tests.unit.cli.content_servers import pem


@pytest.fixture
async def with_authority(client: Client, namespace: str) -> str:
    """A namespace with the authority, as an operator leaves it behind. The CRDs are there, too."""
    await install(client, definitions())
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": str(SecretName.CA)},
        "data": {CA_KEY: base64.b64encode(pem()).decode()},
    }
    await client.create(SECRETS, namespace, json.dumps(secret).encode())
    return namespace


@pytest.fixture
async def with_service(client: Client, with_authority: str) -> str:
    """A namespace with the authority and the Service, whose pods are not there."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": CONTENT_SERVICE},
        "spec": {"ports": [{"name": "https", "port": 443}]},
    }
    await client.create(SERVICES, with_authority, json.dumps(service).encode())
    return with_authority

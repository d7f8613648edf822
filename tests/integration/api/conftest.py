"""The kinds that these tests validate against."""

import pytest

from rukpak_py.kube.client import Client
from tests.integration.definitions import definitions, install


@pytest.fixture
async def kinds(client: Client) -> None:
    """Our CRDs, on the shared cluster."""
    await install(client, definitions())

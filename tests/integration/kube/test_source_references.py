"""C9: what a Bundle names in a source is looked up in the system namespace, and nowhere else."""

import base64
import json
import uuid

import pytest

from rukpak_py.controllers.system_objects import SystemObjects
from rukpak_py.core.errors import RukPakError
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import CONFIG_MAPS, NAMESPACES, SECRETS

CANARY = "canary-of-another-namespace"


@pytest.fixture
async def elsewhere(client: Client) -> str:
    """A namespace with a Secret and a ConfigMap of the name `it`, which no reference may reach."""
    name = f"elsewhere-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, "", json.dumps({"metadata": {"name": name}}).encode())
    data = {"username": base64.b64encode(CANARY.encode()).decode()}
    await client.create(SECRETS, name, json.dumps({"metadata": {"name": "it"}, "data": data}).encode())
    await client.create(CONFIG_MAPS, name, json.dumps({"metadata": {"name": "it"}, "data": {"a": CANARY}}).encode())
    return name


async def test_c9_no_name_leads_to_another_namespace(client: Client, namespace: str, elsewhere: str) -> None:
    looks = (SystemObjects(client, namespace).secret, SystemObjects(client, namespace).config_map)
    for kind, look in zip(("secrets", "configmaps"), looks, strict=True):
        way = f"../../{elsewhere}/{kind}/it"
        names = [way, f"/{way}", way.replace("/", "%2f"), way.replace("/", "%252f"), way.replace("/", "\\")]
        for name in (*names, f"{elsewhere}/it", "it", "..", ".", "../..", "it?fieldSelector=", "it#", "", "\n", "é"):
            try:
                found = await look(name)
            except RukPakError as error:
                assert CANARY not in str(error)  # noqa: PT017 - whatever the refusal is
            else:
                raise AssertionError(f"{kind} {name!r}: {found!r}")

"""Our CRDs on a cluster, as `config/crds` has them."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import yaml

from rukpak_py.api.names import GROUP
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError, ServerUnavailableError
from rukpak_py.kube.resources import CRDS
from tests.waiting import eventually, until_gone

FOLDER = Path(__file__).parents[2] / "config" / "crds"


def definitions(folder: Path = FOLDER) -> list[dict[str, Any]]:
    return [yaml.load(path.read_text(), yaml.CSafeLoader) for path in sorted(folder.glob("*.yaml"))]


async def install(client: Client, crds: list[dict[str, Any]]) -> None:
    """Apply and wait until the API server serves them. Installing the same again writes nothing."""
    for crd in crds:
        body = json.dumps(crd).encode()
        await client.apply(CRDS, "", crd["metadata"]["name"], body, field_manager="tests", force=True)
    names = {crd["metadata"]["name"] for crd in crds}

    async def are_established() -> bool:
        return all([await _is_established(client, name) for name in names])

    await eventually(are_established, what="the CRDs are established")


async def remove(client: Client, plural: str, group: str = GROUP) -> None:
    """Delete one and wait until it is gone, with its objects."""
    name = f"{plural}.{group}"
    await client.delete(CRDS, "", name)
    await until_gone(client, CRDS, "", name)


async def touch_deleted(client: Client) -> None:
    """One that is deleted soon after its creation may hang in the API server until it is touched.

    As long as it does, no other kind is collected either: the garbage collector waits to list it.
    """
    touch = json.dumps({"metadata": {"annotations": {"tests.example.com/touched": uuid4().hex}}}).encode()
    for crd in (await client.list_metadata(CRDS)).items:
        if crd.metadata.is_deleted:
            with suppress(NotFoundError, ServerUnavailableError):  # a large one may take long; it is touched again
                await client.patch(CRDS, "", crd.metadata.name, touch)


async def _is_established(client: Client, name: str) -> bool:
    conditions = json.loads(await client.get(CRDS, "", name))["status"].get("conditions") or []
    return any((one["type"], one["status"]) == ("Established", "True") for one in conditions)

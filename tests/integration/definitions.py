"""Our CRDs on a cluster, as `config/crds` has them."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from rukpak_py.api.names import GROUP
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import CRDS

FOLDER = Path(__file__).parents[2] / "config" / "crds"
PATIENCE_SECONDS = 30


def definitions(folder: Path = FOLDER) -> list[dict[str, Any]]:
    return [yaml.safe_load(path.read_text()) for path in sorted(folder.glob("*.yaml"))]


async def install(client: Client, crds: list[dict[str, Any]]) -> None:
    """Apply and wait until the API server serves them. Installing the same again writes nothing."""
    for crd in crds:
        body = json.dumps(crd).encode()
        await client.apply(CRDS, "", crd["metadata"]["name"], body, field_manager="tests", force=True)
    async with asyncio.timeout(PATIENCE_SECONDS):
        for crd in crds:
            await _established(client, crd["metadata"]["name"])


async def remove(client: Client, plural: str, group: str = GROUP) -> None:
    """Delete one and wait until it is gone, with its objects."""
    name = f"{plural}.{group}"
    await client.delete(CRDS, "", name)
    async with asyncio.timeout(PATIENCE_SECONDS):
        with suppress(NotFoundError):
            while True:
                await client.get_metadata(CRDS, "", name)
                await asyncio.sleep(0.05)


async def _established(client: Client, name: str) -> None:
    while True:
        conditions = json.loads(await client.get(CRDS, "", name))["status"].get("conditions") or []
        if any((one["type"], one["status"]) == ("Established", "True") for one in conditions):
            return
        await asyncio.sleep(0.05)

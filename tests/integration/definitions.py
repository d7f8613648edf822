"""Our CRDs on a cluster, as `config/crds` has them."""

import json
from pathlib import Path
from typing import Any

import yaml

from rukpak_py.api.names import GROUP
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import CRDS
from tests.waiting import eventually, until_gone

FOLDER = Path(__file__).parents[2] / "config" / "crds"


def definitions(folder: Path = FOLDER) -> list[dict[str, Any]]:
    return [yaml.safe_load(path.read_text()) for path in sorted(folder.glob("*.yaml"))]


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


async def _is_established(client: Client, name: str) -> bool:
    conditions = json.loads(await client.get(CRDS, "", name))["status"].get("conditions") or []
    return any((one["type"], one["status"]) == ("Established", "True") for one in conditions)

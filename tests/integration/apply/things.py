"""A CRD of a test's own group, and its instances."""

import asyncio
from typing import Any

from rukpak_py.apply.results import ChangeSet
from rukpak_py.kube.resources import CRDS
from tests.integration.apply.room import PATIENCE_SECONDS, Manifest, Room


def definition(group: str, *fields: str) -> Manifest:
    properties: dict[str, Any] = {field: {"type": "string"} for field in fields}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [version],
    }
    return {
        "apiVersion": CRDS.gvk.api_version,
        "kind": CRDS.gvk.kind,
        "metadata": {"name": f"things.{group}"},
        "spec": spec,
    }


def thing(group: str, name: str = "t", **spec: str) -> Manifest:
    return {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": name}, "spec": spec}


async def brought(room: Room, *manifests: Manifest) -> list[ChangeSet]:
    """As the controller does it: again and again until all is there."""
    rounds = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            planned = await room.planned(*manifests)
            rounds.append(await room.carry_out(planned.plan))
            if planned.is_whole and rounds[-1].is_complete:
                return rounds
            await asyncio.sleep(0.05)

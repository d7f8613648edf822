"""A CRD of a test's own group, and its instances."""

from rukpak_py.apply.results import ChangeSet
from tests.integration.apply.room import Manifest, Room
from tests.manifests import crd, manifest, strings
from tests.waiting import eventually


def definition(group: str, *fields: str) -> Manifest:
    return crd(group, schema=strings(*fields))


def thing(group: str, name: str = "t", **spec: str) -> Manifest:
    return manifest(f"{group}/v1", "Thing", name, spec=spec)


async def brought(room: Room, *manifests: Manifest) -> list[ChangeSet]:
    """As the controller does it: again and again until all is there."""
    rounds: list[ChangeSet] = []

    async def is_there() -> bool:
        planned = await room.planned(*manifests)
        rounds.append(await room.carry_out(planned.plan))
        return planned.is_whole and rounds[-1].is_complete

    await eventually(is_there, what="all is there")
    return rounds

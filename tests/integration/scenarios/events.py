"""The Events about an object, as a user sees them."""

from tests.integration.listing import listed
from tests.integration.scenarios.stage import EVENTS, Stage
from tests.waiting import eventually


async def events_of(stage: Stage, name: str) -> dict[str, str]:
    """Notes by reason."""
    found = await listed(stage.client, EVENTS, field_selector=f"regarding.name={name}")
    return {one["reason"]: f"{one['type']}: {one['note']}" for one in found}


async def until_told(stage: Stage, name: str, reason: str, *texts: str) -> None:
    async def is_told() -> bool:
        note = (await events_of(stage, name)).get(reason)
        return note is not None and all(text in note for text in texts)

    await eventually(is_told, what=f"the Event {reason} of {name}, with {texts}")

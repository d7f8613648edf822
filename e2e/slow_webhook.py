"""A validating admission webhook that answers late: it allows everything, after some seconds or when it is told to."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from e2e.admission_webhook import admission_webhook
from rukpak_py.kube.client import Client


class SlowWebhook:
    """`held`: namespace and name of what it has yet to answer about. `answered`: how many answers it has given."""

    def __init__(self, label: str, seconds: float | None) -> None:
        self.label = label
        self.held: list[tuple[str, str]] = []
        self.answered = 0
        self.let_go = asyncio.Event()
        self._seconds = seconds

    async def answer(self, review: dict[str, Any]) -> dict[str, Any]:
        one = review["namespace"], review["name"]
        self.held.append(one)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._seconds):
                await self.let_go.wait()
        self.held.remove(one)
        self.answered += 1
        return {"allowed": True}


@asynccontextmanager
async def slow_webhook(
    client: Client, name: str, folder: Path, *, seconds: float | None = None
) -> AsyncIterator[SlowWebhook]:
    """Its label is its name, with the value "true". `seconds` None: it answers when it is let go."""
    webhook = SlowWebhook(name, seconds)
    async with admission_webhook(client, name, folder, webhook.answer):
        try:
            yield webhook
        finally:
            webhook.let_go.set()

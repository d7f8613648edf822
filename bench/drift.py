"""How long a foreign change stays: one Service after the other is edited and watched until it is as it was."""

import asyncio
import time
from collections.abc import Sequence

import orjson

from bench.workload import NAMESPACE, SERVICES
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject

EDITED = "somebody-else"
PATIENCE_SECONDS = 30.0


async def seconds_until_corrected(client: Client, names: Sequence[str]) -> list[float]:
    """From the answer to the edit until the watch shows the content's value again."""
    selected: dict[str, str] = {}
    changed = asyncio.Event()

    def see(key: ObjectKey, _old: LiveObject | None, new: LiveObject | None) -> None:
        if new is not None:
            selected[key.name] = orjson.loads(new.json or b"")["spec"]["selector"]["app"]
            changed.set()

    informer = Informer(client, SERVICES, namespace=NAMESPACE, full=True, keep=False, on_change=see)
    informer.start()
    try:
        await informer.wait_synced(PATIENCE_SECONDS)
        return [await _one(client, name, selected, changed) for name in names]
    finally:
        await informer.stop()


async def _one(client: Client, name: str, selected: dict[str, str], changed: asyncio.Event) -> float:
    patch = orjson.dumps({"spec": {"selector": {"app": EDITED}}})
    selected[name] = EDITED  # until a watch event says that it was corrected
    await client.patch(SERVICES, NAMESPACE, name, patch, field_manager="another-tool")
    began = time.perf_counter()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while selected[name] != name:
            changed.clear()
            await changed.wait()
    return time.perf_counter() - began
